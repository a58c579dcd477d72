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

// Place writes an order and returns its id and total. What it needs to read it reads before the
// transaction, which is as short as it can be, since SQLite has one writer at a time.
// It returns sql.ErrNoRows for an unknown customer and ErrStock for a product that cannot be had.
func (s *Store) Place(ctx context.Context, d Draft) (id int64, total int, err error) {
	var name, region string
	var turnover int
	if err := get(ctx, s.customer, d.Customer)(&name, &region, &turnover); err != nil {
		return 0, 0, err
	}
	var count, spent int // the customer's standing decides on credit; here everybody has it
	if err := get(ctx, s.standing, d.Customer)(&count, &spent); err != nil {
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
	res, err := exec(ctx, tx.StmtContext(ctx, s.addOrder), d.Customer)
	if err != nil {
		return 0, 0, err
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, 0, err
	}
	price, addLine, takeStock := tx.StmtContext(ctx, s.price), tx.StmtContext(ctx, s.addLine), tx.StmtContext(ctx, s.takeStock)
	for i, l := range d.Lines {
		var cents int
		if err := get(ctx, price, l.Product, l.Quantity)(&cents); errors.Is(err, sql.ErrNoRows) {
			return 0, 0, fmt.Errorf("%w: product %d, quantity %d", ErrStock, l.Product, l.Quantity)
		} else if err != nil {
			return 0, 0, err
		}
		if _, err := exec(ctx, addLine, id, i+1, l.Product, l.Quantity, cents); err != nil {
			return 0, 0, err
		}
		if _, err := exec(ctx, takeStock, l.Quantity, l.Product); err != nil {
			return 0, 0, err
		}
		total += cents * l.Quantity
	}
	_, err = exec(ctx, tx.StmtContext(ctx, s.addTurnover), total, d.Customer)
	return id, total, err
}
