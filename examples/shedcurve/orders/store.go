package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Store is the service's database: a pool of connections and its prepared statements. It is safe for
// concurrent use; make it with Open.
type Store struct {
	db    *sql.DB
	sizes Sizes // when it was opened

	order, lines, standing, related, customer, recent, turnover *sql.Stmt
	topProducts, topCustomers, topCategories, topRegions        *sql.Stmt
	addOrder, addLine, takeStock, addTurnover                   *sql.Stmt

	gauge *gauge
}

const (
	sqlOrder    = `SELECT o.customer_id, o.month, o.status, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = ?`
	sqlLines    = `SELECT l.no, l.product_id, p.name, l.quantity, l.price FROM lines l JOIN products p ON p.id = l.product_id WHERE l.customer_id = ? AND l.order_id = ? ORDER BY l.no`
	sqlStanding = `SELECT count(DISTINCT l.order_id), coalesce(sum(l.quantity * l.price), 0), coalesce(sum(l.quantity * p.price), 0) FROM lines l
		JOIN products p ON p.id = l.product_id WHERE l.customer_id = ?`
	sqlRelated = `SELECT b.product_id, count(*) AS n FROM lines a JOIN lines b ON b.customer_id = a.customer_id AND b.order_id = a.order_id AND b.product_id <> a.product_id
		WHERE a.customer_id = ? AND a.product_id = ? GROUP BY b.product_id ORDER BY n DESC, b.product_id LIMIT 5`
	sqlCustomer = `SELECT name, region, turnover FROM customers WHERE id = ?`
	sqlRecent   = `SELECT o.id, o.status, count(*), sum(l.quantity * l.price) FROM orders o JOIN lines l ON l.customer_id = o.customer_id AND l.order_id = o.id
		WHERE o.customer_id = ? GROUP BY o.id ORDER BY o.id DESC LIMIT 50`
	sqlTurnover = `SELECT l.month, p.category, sum(l.quantity * l.price) AS total FROM lines l JOIN products p ON p.id = l.product_id
		WHERE l.customer_id = ? AND l.month >= 10 GROUP BY l.month, p.category ORDER BY total DESC LIMIT 24`
	// The unary plus keeps SQLite from walking an index on products instead: these are meant to scan.
	sqlTopProducts = `SELECT p.id, p.name, t.total FROM (SELECT l.product_id, sum(l.quantity * l.price) AS total FROM orders o
		JOIN lines l ON l.customer_id = o.customer_id AND l.order_id = o.id
		WHERE o.id > (SELECT max(id) FROM orders) - ? GROUP BY +l.product_id ORDER BY total DESC LIMIT 20) t
		JOIN products p ON p.id = t.product_id ORDER BY t.total DESC`
	sqlTopCustomers = `SELECT c.id, c.name, t.total FROM (SELECT o.customer_id, sum(l.quantity * l.price) AS total FROM orders o
		JOIN lines l ON l.customer_id = o.customer_id AND l.order_id = o.id
		WHERE o.id > (SELECT max(id) FROM orders) - ? GROUP BY +o.customer_id ORDER BY total DESC LIMIT 20) t
		JOIN customers c ON c.id = t.customer_id ORDER BY t.total DESC`
	sqlTopCategories = `SELECT 0, p.category, sum(l.quantity * l.price) AS total FROM orders o
		JOIN lines l ON l.customer_id = o.customer_id AND l.order_id = o.id JOIN products p ON p.id = l.product_id
		WHERE o.id > (SELECT max(id) FROM orders) - ? GROUP BY p.category ORDER BY total DESC LIMIT 20`
	sqlTopRegions = `SELECT 0, c.region, sum(l.quantity * l.price) AS total FROM orders o
		JOIN lines l ON l.customer_id = o.customer_id AND l.order_id = o.id JOIN customers c ON c.id = o.customer_id
		WHERE o.id > (SELECT max(id) FROM orders) - ? GROUP BY c.region ORDER BY total DESC LIMIT 20`

	sqlSizes       = `SELECT (SELECT max(id) FROM orders), (SELECT max(id) FROM customers), (SELECT max(id) FROM products)`
	sqlAddOrder    = `INSERT INTO orders (customer_id, month, status) VALUES (?, 24, 'open')`
	sqlAddLine     = `INSERT INTO lines (customer_id, order_id, no, month, product_id, quantity, price) VALUES (?, ?, ?, 24, ?, ?, ?)`
	sqlTakeStock   = `UPDATE products SET stock = stock - ? WHERE id = ? AND stock >= ? RETURNING price`
	sqlAddTurnover = `UPDATE customers SET turnover = turnover + ? WHERE id = ?`
)

// Open opens the database that Create made at path.
func Open(ctx context.Context, path string) (*Store, error) {
	dsn := fmt.Sprintf("file:%s?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-8192)&_pragma=busy_timeout(%d)",
		url.PathEscape(path), busyTimeout/time.Millisecond)
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("orders: opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	s := &Store{db: db}
	for text, stmt := range map[string]**sql.Stmt{
		sqlOrder: &s.order, sqlLines: &s.lines, sqlStanding: &s.standing, sqlRelated: &s.related,
		sqlCustomer: &s.customer, sqlRecent: &s.recent, sqlTurnover: &s.turnover, sqlTopProducts: &s.topProducts, sqlTopCustomers: &s.topCustomers, sqlTopCategories: &s.topCategories, sqlTopRegions: &s.topRegions,
		sqlAddOrder: &s.addOrder, sqlAddLine: &s.addLine,
		sqlTakeStock: &s.takeStock, sqlAddTurnover: &s.addTurnover,
	} {
		if *stmt, err = db.PrepareContext(ctx, text); err != nil {
			return nil, errors.Join(fmt.Errorf("orders: opening %s: %w", path, err), db.Close())
		}
	}
	if err := db.QueryRowContext(ctx, sqlSizes).Scan(&s.sizes.Orders, &s.sizes.Customers, &s.sizes.Products); err != nil {
		return nil, errors.Join(fmt.Errorf("orders: opening %s: %w", path, err), db.Close())
	}
	if s.gauge, err = openGauge(ctx, dsn); err != nil {
		return nil, errors.Join(fmt.Errorf("orders: opening %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Reset takes back the orders placed since Open and empties the write-ahead log, so that the next
// measurement sees the same data. Nothing else may be using the Store.
func (s *Store) Reset(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("orders: resetting: %w", err)
	}
	defer conn.Close()
	for _, text := range []string{
		fmt.Sprintf("DELETE FROM lines WHERE order_id > %d", s.sizes.Orders),
		fmt.Sprintf("DELETE FROM orders WHERE id > %d", s.sizes.Orders),
		fmt.Sprintf("UPDATE products SET stock = %d WHERE stock <> %[1]d", seededStock),
		"UPDATE customers SET turnover = 0 WHERE turnover <> 0",
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("orders: resetting: %w", err)
		}
	}
	return nil
}

// Close closes the pool and the gauge.
func (s *Store) Close() error { return errors.Join(s.gauge.db.Close(), s.db.Close()) }
