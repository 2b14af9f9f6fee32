// Command quantities reads one JSON string a line and prints how apimachinery reads it as a quantity.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			panic(err)
		}
		row := map[string]any{"text": text, "error": nil}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			row["error"] = err.Error()
		} else {
			row["value"], row["milli"], row["exact"] = fmt.Sprint(q.Value()), fmt.Sprint(q.MilliValue()), q.AsDec().String()
		}
		out, _ := json.Marshal(row)
		fmt.Println(string(out))
	}
}
