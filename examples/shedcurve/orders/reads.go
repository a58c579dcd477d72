package orders

import (
	"context"
	"database/sql"
)

// Line is one line of an order; prices are in cents.
type Line struct {
	No       int    `json:"no"`
	Product  int    `json:"product"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    int    `json:"price"`

	Related []Count `json:"related,omitempty"` // what this customer buys most often together with this one; only the first line has it
}

// Order is one order as its page shows it.
type Order struct {
	ID       int    `json:"id"`
	Customer int    `json:"customer"`
	Name     string `json:"name"`
	Month    int    `json:"month"`
	Status   string `json:"status"`
	Lines    []Line `json:"lines"`
	Orders   int    `json:"customer_orders"` // how many orders this customer has made
	Turnover int    `json:"customer_total"`
	Today    int    `json:"customer_total_today"` // the same at the prices of today
}

// Count is a product and how often it was bought.
type Count struct {
	Product int `json:"product"`
	N       int `json:"n"`
}

// Best is a product, customer, category or region and its turnover.
type Best struct {
	ID    int    `json:"id,omitempty"` // of a product or customer
	Name  string `json:"name"`
	Total int    `json:"total"`
}

// Top is the report on the latest orders.
type Top struct {
	Products   []Best `json:"products"`
	Customers  []Best `json:"customers"`
	Categories []Best `json:"categories"`
	Regions    []Best `json:"regions"`
}

// Summary is one order in a customer's list.
type Summary struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
	Lines  int    `json:"lines"`
	Total  int    `json:"total"`
}

// Turnover is what a customer spent on a category in a month.
type Turnover struct {
	Month    int    `json:"month"`
	Category string `json:"category"`
	Total    int    `json:"total"`
}

// History is a customer with the latest orders and the months that brought most.
type History struct {
	ID       int        `json:"id"`
	Name     string     `json:"name"`
	Region   string     `json:"region"`
	Turnover int        `json:"turnover"`
	Orders   []Summary  `json:"orders"`
	Best     []Turnover `json:"best"`
}

// Order reads one order; sql.ErrNoRows when there is none.
func (s *Store) Order(ctx context.Context, id int) (Order, error) {
	o := Order{ID: id}
	if err := get(ctx, s.order, id)(&o.Customer, &o.Month, &o.Status, &o.Name); err != nil {
		return o, err
	}
	var err error
	if o.Lines, err = collect(ctx, s.lines, func(r *sql.Rows, l *Line) error {
		return r.Scan(&l.No, &l.Product, &l.Name, &l.Quantity, &l.Price)
	}, o.Customer, id); err != nil {
		return o, err
	}
	if err := get(ctx, s.standing, o.Customer)(&o.Orders, &o.Turnover, &o.Today); err != nil {
		return o, err
	}
	if len(o.Lines) > 0 {
		first := &o.Lines[0]
		first.Related, err = collect(ctx, s.related, func(r *sql.Rows, c *Count) error { return r.Scan(&c.Product, &c.N) }, o.Customer, first.Product)
	}
	return o, err
}

// History reads a customer's orders; sql.ErrNoRows when there is no such customer.
func (s *Store) History(ctx context.Context, customer int) (History, error) {
	h := History{ID: customer}
	if err := get(ctx, s.customer, customer)(&h.Name, &h.Region, &h.Turnover); err != nil {
		return h, err
	}
	var err error
	if h.Orders, err = collect(ctx, s.recent, func(r *sql.Rows, o *Summary) error {
		return r.Scan(&o.ID, &o.Status, &o.Lines, &o.Total)
	}, customer); err != nil {
		return h, err
	}
	h.Best, err = collect(ctx, s.turnover, func(r *sql.Rows, t *Turnover) error { return r.Scan(&t.Month, &t.Category, &t.Total) }, customer)
	return h, err
}

// Top reads the best products, customers, categories and regions, by turnover, among so many latest orders.
func (s *Store) Top(ctx context.Context, latest int) (t Top, err error) {
	scan := func(r *sql.Rows, b *Best) error { return r.Scan(&b.ID, &b.Name, &b.Total) }
	for _, part := range []struct {
		stmt *sql.Stmt
		best *[]Best
	}{{s.topProducts, &t.Products}, {s.topCustomers, &t.Customers}, {s.topCategories, &t.Categories}, {s.topRegions, &t.Regions}} {
		if *part.best, err = collect(ctx, part.stmt, scan, latest); err != nil {
			return t, err
		}
	}
	return t, nil
}
