// Command victims orders one case a line as the ReplicaSet controller would delete: pods and ReplicaSets of a namespace
// in, what the controller's own comparison says of each pair and the order it sorts them in out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller"
)

// Case is one namespace at one moment, and the ReplicaSet in it that is scaled down.
type Case struct {
	NowNanoseconds int64             `json:"nowNanoseconds"`
	ReplicaSet     string            `json:"replicaSet"` // UID
	ReplicaSets    []apps.ReplicaSet `json:"replicaSets"`
	Pods           []*v1.Pod         `json:"pods"`
}

// Answer holds UIDs in the order of deletion; Less[i] are those that the comparison puts behind Order[i].
type Answer struct {
	Order []string   `json:"order"`
	Less  [][]string `json:"less"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "victims:", err)
		os.Exit(1)
	}
}

func serve() error {
	input := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	buffered := bufio.NewWriter(os.Stdout)
	output := json.NewEncoder(buffered)
	for input.More() {
		var found Case
		if err := input.Decode(&found); err != nil {
			return err
		}
		if err := output.Encode(answer(&found)); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func answer(found *Case) *Answer {
	ranked := ranks(found)
	sort.Sort(ranked)
	result := &Answer{Order: []string{}, Less: [][]string{}}
	for i, pod := range ranked.Pods {
		behind := []string{}
		for j, other := range ranked.Pods {
			if ranked.Less(i, j) {
				behind = append(behind, string(other.UID))
			}
		}
		result.Order = append(result.Order, string(pod.UID))
		result.Less = append(result.Less, behind)
	}
	return result
}

// ranks counts the related pods on each node as the controller does before it sorts; that part is not exported.
func ranks(found *Case) controller.ActivePodsWithRanks {
	onNode := map[string]int{}
	for _, pod := range found.Pods {
		if controller.IsPodActive(pod) && isRelated(found, pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	ranked := controller.ActivePodsWithRanks{Now: metav1.NewTime(time.Unix(0, found.NowNanoseconds))}
	for _, pod := range found.Pods {
		owner := metav1.GetControllerOf(pod)
		if owner != nil && string(owner.UID) == found.ReplicaSet && controller.IsPodActive(pod) {
			ranked.Pods = append(ranked.Pods, pod)
			ranked.Rank = append(ranked.Rank, onNode[pod.Spec.NodeName])
		}
	}
	return ranked
}

// isRelated says whether any ReplicaSet under the same controller selects the pod.
func isRelated(found *Case, pod *v1.Pod) bool {
	above := controllerOf(found)
	for i := range found.ReplicaSets {
		other := metav1.GetControllerOf(&found.ReplicaSets[i])
		if above == nil || other == nil || other.UID != above.UID {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(found.ReplicaSets[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			return true
		}
	}
	return false
}

func controllerOf(found *Case) *metav1.OwnerReference {
	for i := range found.ReplicaSets {
		if string(found.ReplicaSets[i].UID) == found.ReplicaSet {
			return metav1.GetControllerOf(&found.ReplicaSets[i])
		}
	}
	return nil
}
