// Ways in which Go programs panic: go run crash.go NAME
package main

import (
	"errors"
	"os"
	"sync"
)

type cache struct{ blocks map[string][]int }

func (c *cache) block(name string, at int) int { return c.blocks[name][at] }

func (c *cache) refuse(name string) { panic(errors.New("no room for " + name + " in 17 blocks")) }

func load(name string) *cache { return nil }

func main() {
	full := &cache{map[string][]int{"wq": {1, 2, 3}}}
	switch os.Args[1] {
	case "index":
		full.block("wq", len(os.Args)+5)
	case "nil":
		load("wq").block("wq", 0)
	case "error":
		full.refuse("wq")
	case "goroutine":
		var group sync.WaitGroup
		group.Add(1)
		go func() { full.block("wq", 9) }()
		group.Wait()
	case "deadlock":
		var group sync.WaitGroup
		group.Add(1)
		group.Wait()
	}
}
