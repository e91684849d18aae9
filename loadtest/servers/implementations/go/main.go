// A peer: fasthttp, which answers every request with what the file ANSWER holds.
//
//	go-peer PORT ANSWER
package main

import (
	"encoding/json"
	"log"
	"os"
	"runtime"

	"github.com/valyala/fasthttp"
)

type answer struct {
	Fields [][2]string `json:"fields"`
	Body   string      `json:"body"`
}

func main() {
	runtime.GOMAXPROCS(1)
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	var told answer
	if err := json.Unmarshal(text, &told); err != nil {
		log.Fatal(err)
	}
	body := []byte(told.Body)
	server := fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		for _, field := range told.Fields {
			ctx.Response.Header.Set(field[0], field[1])
		}
		ctx.SetBody(body)
	}}
	log.Fatal(server.ListenAndServe("127.0.0.1:" + os.Args[1]))
}
