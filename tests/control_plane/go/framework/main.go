// Command framework judges one case a line with kube-scheduler's own framework: nodes, pods and the pod to place in,
// what each plugin says of each node out. A case that cannot be judged answers with an error; the process goes on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// garbagePercent trades memory, of which a case needs little, for time: each case builds and drops a whole scheduler.
const garbagePercent = 400

// panics counts those that Kubernetes' own goroutines caught; every case in flight then answers with an error.
var panics atomic.Int64

func main() {
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "cases judged at a time; answers keep the order of the cases")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	debug.SetGCPercent(garbagePercent)
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, found any) {
		panics.Add(1)
		fmt.Fprintf(os.Stderr, "panic: %v\n%s\n", found, debug.Stack())
	})
	if err := serve(os.Stdin, os.Stdout, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "framework:", err)
		os.Exit(1)
	}
}

// serve answers each line of input with a line of output, in order.
func serve(input *os.File, output *os.File, workers int) error {
	pending := make(chan chan []byte, workers)
	written := make(chan error, 1)
	go func() { written <- write(output, pending) }()
	lines := bufio.NewReaderSize(input, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			answer := make(chan []byte, 1)
			pending <- answer // holds `workers` cases back, so that no more are judged at a time
			go func() { answer <- answerLine(line) }()
		}
		if err != nil {
			close(pending)
			return <-written
		}
	}
}

func write(output *os.File, pending <-chan chan []byte) error {
	for answer := range pending {
		if _, err := output.Write(append(<-answer, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// answerLine never panics and always answers.
func answerLine(line []byte) []byte {
	answer := &Answer{}
	before := panics.Load()
	func() {
		defer func() {
			if found := recover(); found != nil {
				fmt.Fprintf(os.Stderr, "panic: %v\n%s\n", found, debug.Stack())
				*answer = Answer{ID: answer.ID, Error: fmt.Sprintf("panic: %v", found)}
			}
		}()
		if err := judgeLine(line, answer); err != nil {
			*answer = Answer{ID: answer.ID, Error: err.Error()}
		}
	}()
	if panics.Load() != before {
		*answer = Answer{ID: answer.ID, Error: "a plugin panicked in a goroutine; its trace is on the standard error"}
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		encoded, _ = json.Marshal(Answer{ID: answer.ID, Error: err.Error()})
	}
	return encoded
}
