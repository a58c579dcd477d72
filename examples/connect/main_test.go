package main

// What the program prints is what its users see of each protocol.
func Example() {
	main()
	// Output:
	// connect: hello
	// grpc: hello
	// connect: unavailable: shed: closed
	// grpc: unavailable: shed: closed
}
