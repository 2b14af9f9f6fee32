// Command requests reads one pod a line and prints what kube-scheduler's own helper adds up for it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var pod v1.Pod
		if err := json.Unmarshal(in.Bytes(), &pod); err != nil {
			panic(err)
		}
		requests := helper.PodRequests(&pod, helper.PodResourcesOptions{})
		missing := v1.ResourceList{}
		for name, amount := range map[v1.ResourceName]resource.Quantity{
			"cpu": resource.MustParse("100m"), "memory": resource.MustParse("209715200")} {
			if _, found := requests[name]; !found || !helper.IsPodLevelRequestsSet(&pod) {
				missing[name] = amount
			}
		}
		filled := helper.PodRequests(&pod, helper.PodResourcesOptions{NonMissingContainerRequests: missing})
		cpu, memory := filled["cpu"], filled["memory"]
		row := map[string]any{"pod": json.RawMessage(append([]byte(nil), in.Bytes()...)), "cpu": cpu.MilliValue(), "memory": memory.Value()}
		total := map[string]int64{}
		for name, amount := range requests {
			if name == "cpu" {
				total["cpu"] = amount.MilliValue()
			} else {
				total[string(name)] = amount.Value()
			}
		}
		row["requests"] = total
		out, _ := json.Marshal(row)
		fmt.Println(string(out))
	}
}
