package orders

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite": pure Go, so the load test needs no C compiler
)

// Sizes of the seeded data. Ids run from 1 to these.
const (
	Orders    = 100_000 // of a load test
	Customers = 110
	Products  = 1_600
)

const (
	poolSize    = 16                     // connections, as a small service has them
	seededStock = 1_000_000              // of every product: no run sells out
	busyTimeout = 100 * time.Millisecond // how long a writer waits for another before SQLITE_BUSY
)

const schema = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT NOT NULL, turnover INTEGER NOT NULL DEFAULT 0);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price INTEGER NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, month INTEGER NOT NULL, status TEXT NOT NULL);
CREATE TABLE lines (order_id INTEGER NOT NULL, no INTEGER NOT NULL, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL,
	PRIMARY KEY (order_id, no)) WITHOUT ROWID;
`

// indexes are made after the rows: that is several times faster than keeping them up to date on the way.
const indexes = `
CREATE INDEX orders_by_customer ON orders (customer_id, id);
CREATE INDEX lines_by_product ON lines (product_id, order_id);
ANALYZE;
`

// The seed is arithmetic on the row's number (multiplication by large odd numbers scatters it well enough), so
// that every run and both arms see the same rows.
const seed = `
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < @customers)
INSERT INTO customers (id, name, region) SELECT i, printf('customer %05d', i), 'region ' || (i * 7919 % 12) FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < @products)
INSERT INTO products SELECT i, printf('product %05d', i), 'category ' || (i * 104729 % 40), 100 + i * 7919 % 9900, @stock FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < @orders)
INSERT INTO orders SELECT i, 1 + (i * 2654435761 / 65536) % @customers, i * 24 / @orders,
	CASE i * 40503 % 10 WHEN 0 THEN 'open' WHEN 1 THEN 'sent' ELSE 'paid' END FROM n;

WITH RECURSIVE l(o, no) AS (SELECT 1, 1 UNION ALL SELECT o + no / 3, no % 3 + 1 FROM l WHERE o < @orders OR no < 3)
INSERT INTO lines SELECT o, no, 1 + (o * 2654435761 / 4096 + no * 40503) % @products, 1 + (o + no) % 5,
	100 + (o * 2654435761 / 4096 + no * 40503) % 9900 FROM l;
`

// Create makes a database of so many seeded orders, with ids from 1, in the file at path, which must not exist.
func Create(ctx context.Context, path string, orders int) error {
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(path)+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return fmt.Errorf("orders: creating %s: %w", path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	sizes := []any{sql.Named("orders", orders), sql.Named("customers", Customers), sql.Named("products", Products), sql.Named("stock", seededStock)}
	for _, script := range []string{schema, "BEGIN", seed, indexes, "COMMIT"} {
		if _, err := db.ExecContext(ctx, script, sizes...); err != nil {
			return fmt.Errorf("orders: seeding %s: %w", path, err)
		}
	}
	return db.Close()
}
