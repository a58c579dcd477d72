package orders

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite": pure Go, so the load test needs no C compiler
)

// Connections is how many the pool has, as a small service has them. A request takes one for each of its statements.
const Connections = 16

// Statements are what parts of a request's work its statements are: the most frequent kind, a customer's list, looks up a
// row by its key and then adds up two things; the others are much like it.
func Statements() []float64 { return []float64{0.02, 0.49, 0.49} }

const (
	poolSize    = Connections
	seededStock = 1_000_000              // of every product: no run sells out
	busyTimeout = 100 * time.Millisecond // how long a writer waits for another before SQLITE_BUSY
)

// A customer's lines lie next to each other, on few pages. Every write empties the page cache of all other
// connections, and if a request read a thousand pages, it would cost the double as soon as more is written, which a
// service does that sheds the less important reads: a count of requests would then be no measure of work.
const schema = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT NOT NULL, turnover INTEGER NOT NULL DEFAULT 0);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, price INTEGER NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, month INTEGER NOT NULL, status TEXT NOT NULL);
CREATE TABLE lines (customer_id INTEGER NOT NULL, order_id INTEGER NOT NULL, no INTEGER NOT NULL, month INTEGER NOT NULL,
	product_id INTEGER NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL, PRIMARY KEY (customer_id, order_id, no)) WITHOUT ROWID;
`

// indexes are made after the rows: that is several times faster than keeping them up to date on the way.
const indexes = `
CREATE INDEX orders_by_customer ON orders (customer_id, id);
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

WITH no(no) AS (VALUES (1), (2), (3))
INSERT INTO lines SELECT o.customer_id, o.id, no, o.month, 1 + (o.id * 2654435761 / 4096 + no * 40503) % @products, 1 + (o.id + no) % 5,
	100 + (o.id * 2654435761 / 4096 + no * 40503) % 9900 FROM orders o, no ORDER BY 1, 2, 3;
`

// Create makes a database of these sizes in the file at path, which must not exist.
func Create(ctx context.Context, path string, s Sizes) error {
	if err := s.check(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+url.PathEscape(path)+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return fmt.Errorf("orders: creating %s: %w", path, err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	sizes := []any{sql.Named("orders", s.Orders), sql.Named("customers", s.Customers), sql.Named("products", s.Products), sql.Named("stock", seededStock)}
	for _, script := range []string{schema, "BEGIN", seed, indexes, "COMMIT"} {
		if _, err := db.ExecContext(ctx, script, sizes...); err != nil {
			return fmt.Errorf("orders: seeding %s: %w", path, err)
		}
	}
	return db.Close()
}
