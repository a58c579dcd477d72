package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrStock is returned by Place for a product that does not exist or is not in stock.
var ErrStock = errors.New("orders: no such product in stock")

// Draft is an order that a customer wants to place.
type Draft struct {
	Customer int         `json:"customer"`
	Lines    []DraftLine `json:"lines"`
}

// DraftLine is a product and how many of it.
type DraftLine struct {
	Product  int `json:"product"`
	Quantity int `json:"quantity"`
}

const maxLines = 20 // of an order

// check reports a draft that nobody can want.
func (d Draft) check() error {
	if len(d.Lines) == 0 || len(d.Lines) > maxLines {
		return fmt.Errorf("lines: must be 1 to %d", maxLines)
	}
	for _, l := range d.Lines {
		if l.Quantity < 1 {
			return errors.New("quantity: must be at least 1")
		}
	}
	return nil
}

// Place writes an order and returns its id and total. What it needs to read it reads before the
// transaction, which is as short as it can be, since SQLite has one writer at a time.
// It returns sql.ErrNoRows for an unknown customer and ErrStock for a product that cannot be had.
func (s *Store) Place(ctx context.Context, d Draft) (id int64, total int, err error) {
	var name, region string
	var turnover int
	if err := get(ctx, s.customer, d.Customer)(&name, &region, &turnover); err != nil {
		return 0, 0, err
	}
	var count, spent, today int // the customer's standing decides on credit; here everybody has it
	if err := get(ctx, s.standing, d.Customer)(&count, &spent, &today); err != nil {
		return 0, 0, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback() // does nothing after a commit
	if id, total, err = s.write(ctx, tx, d); err != nil {
		return 0, 0, err
	}
	return id, total, tx.Commit()
}

func (s *Store) write(ctx context.Context, tx *sql.Tx, d Draft) (id int64, total int, err error) {
	res, err := tx.StmtContext(ctx, s.addOrder).ExecContext(ctx, d.Customer)
	if err != nil {
		return 0, 0, err
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, 0, err
	}
	takeStock, addLine := tx.StmtContext(ctx, s.takeStock), tx.StmtContext(ctx, s.addLine)
	for i, l := range d.Lines {
		var price int
		err := takeStock.QueryRowContext(ctx, l.Quantity, l.Product, l.Quantity).Scan(&price)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, 0, fmt.Errorf("%w: product %d, quantity %d", ErrStock, l.Product, l.Quantity)
		} else if err != nil {
			return 0, 0, err
		}
		if _, err := addLine.ExecContext(ctx, d.Customer, id, i+1, l.Product, l.Quantity, price); err != nil {
			return 0, 0, err
		}
		total += price * l.Quantity
	}
	_, err = tx.StmtContext(ctx, s.addTurnover).ExecContext(ctx, total, d.Customer)
	elsewhere() // once: one by one these statements are too short for others to get between them
	return id, total, err
}
