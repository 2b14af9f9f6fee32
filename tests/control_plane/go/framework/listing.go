package main

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// identity names an object among all of a case.
func identity(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%T %s/%s", object, accessor.GetNamespace(), accessor.GetName())
}

// listInOrder lists what the tracker holds, sorted by place.
func listInOrder(tracker clienttesting.ObjectTracker, action clienttesting.ListActionImpl, places map[string]int) (bool, runtime.Object, error) {
	list, err := tracker.List(action.GetResource(), action.Kind, action.GetNamespace())
	if err != nil {
		return true, nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return true, nil, err
	}
	slices.SortStableFunc(items, func(a, b runtime.Object) int { return places[identity(a)] - places[identity(b)] })
	return true, list, meta.SetList(list, items)
}
