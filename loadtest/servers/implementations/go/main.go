// A peer: Go's net/http or fasthttp, which answers every request with what the file ANSWER holds.
//
//	go-peer http|fasthttp PORT ANSWER
package main

import (
	"encoding/json"
	"log"
	"net/http"
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
	text, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	var told answer
	if err := json.Unmarshal(text, &told); err != nil {
		log.Fatal(err)
	}
	body, address := []byte(told.Body), "127.0.0.1:"+os.Args[2]
	if os.Args[1] == "fasthttp" {
		server := fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
			for _, field := range told.Fields {
				ctx.Response.Header.Set(field[0], field[1])
			}
			ctx.SetBody(body)
		}}
		log.Fatal(server.ListenAndServe(address))
	}
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, field := range told.Fields {
			w.Header()[field[0]] = []string{field[1]}
		}
		w.Write(body)
	})))
}
