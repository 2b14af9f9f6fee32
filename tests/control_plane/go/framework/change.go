package main

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	kubejson "sigs.k8s.io/json"
)

// Change is what happens to one object while the pod of the case waits; nothing is placed then. Without an old object
// it came, without a new one it went. Of a TargetPod the new one is the pod of the case.
type Change struct {
	Kind fwk.EventResource `json:"kind"`
	Old  json.RawMessage   `json:"old,omitempty"`
	New  json.RawMessage   `json:"new,omitempty"`
}

// Heard is one event of a change, and what each plugin that hears of it says.
type Heard struct {
	Event string            `json:"event"`
	Hints map[string]string `json:"hints"` // by plugin
}

// both are the objects of a change as the API server stores them, and as the plugins get them.
type both struct{ old, new runtime.Object }

// storeChange does to a change's objects what the API server does, and says what it would refuse.
func (c *Case) storeChange(ctx context.Context) (both, []string, error) {
	var refused []string
	read := func(raw *json.RawMessage) (runtime.Object, error) {
		if len(*raw) == 0 || string(*raw) == "null" {
			return nil, nil
		}
		object, problems, err := c.storeOne(ctx, *raw)
		refused = append(refused, problems...)
		if err == nil {
			*raw, err = json.Marshal(object)
		}
		return object, err
	}
	old, err := read(&c.Change.Old)
	if err != nil {
		return both{}, nil, err
	}
	if c.Change.Kind == fwk.TargetPod {
		return both{old, c.Pod}, refused, nil
	}
	updated, err := read(&c.Change.New)
	return both{old, updated}, refused, err
}

func (c *Case) storeOne(ctx context.Context, raw json.RawMessage) (runtime.Object, []string, error) {
	object, err := empty(c.Change.Kind)
	if err != nil {
		return nil, nil, err
	}
	if strict, err := kubejson.UnmarshalStrict(raw, object); err != nil || len(strict) > 0 {
		return nil, nil, fmt.Errorf("cannot read the change: %v %v", err, strict)
	}
	if pod, ok := object.(*v1.Pod); ok {
		problems, err := c.storePod(ctx, pod)
		return pod, problems, err
	}
	return object, nil, storeObject(object)
}

func empty(kind fwk.EventResource) (runtime.Object, error) {
	switch kind {
	case fwk.Node:
		return &v1.Node{}, nil
	case fwk.AssignedPod, fwk.TargetPod:
		return &v1.Pod{}, nil
	case fwk.PersistentVolume:
		return &v1.PersistentVolume{}, nil
	case fwk.PersistentVolumeClaim:
		return &v1.PersistentVolumeClaim{}, nil
	case fwk.StorageClass:
		return &storagev1.StorageClass{}, nil
	case fwk.CSINode:
		return &storagev1.CSINode{}, nil
	case fwk.CSIDriver:
		return &storagev1.CSIDriver{}, nil
	case fwk.CSIStorageCapacity:
		return &storagev1.CSIStorageCapacity{}, nil
	case fwk.VolumeAttachment:
		return &storagev1.VolumeAttachment{}, nil
	}
	return nil, fmt.Errorf("change.kind: %q is not known", kind)
}

// events are those that kube-scheduler's own handlers make of a change.
func (b both) events(kind fwk.EventResource) []fwk.ClusterEvent {
	switch {
	case b.old == nil:
		return []fwk.ClusterEvent{{Resource: kind, ActionType: fwk.Add}}
	case b.new == nil:
		return []fwk.ClusterEvent{{Resource: kind, ActionType: fwk.Delete}}
	}
	switch updated := b.new.(type) {
	case *v1.Node:
		return framework.NodeSchedulingPropertiesChange(updated, b.old.(*v1.Node))
	case *v1.Pod:
		return framework.PodSchedulingPropertiesChange(updated, b.old.(*v1.Pod), kind == fwk.TargetPod)
	}
	return []fwk.ClusterEvent{{Resource: kind, ActionType: fwk.Update}}
}

// hear asks every plugin of the profile that has registered for an event, as the scheduling queue would if all of them
// had rejected the pod.
func (s *Scheduler) hear(ctx context.Context, pod *v1.Pod, change both, kind fwk.EventResource) ([]Heard, error) {
	var heard []Heard
	for _, event := range change.events(kind) {
		one := Heard{Event: event.Label(), Hints: map[string]string{}}
		for _, plugin := range s.framework.EnqueueExtensions() {
			registered, err := plugin.EventsToRegister(ctx)
			if err != nil {
				return nil, err
			}
			for _, wanted := range registered {
				if framework.MatchClusterEvents(wanted.Event, event) {
					one.Hints[plugin.Name()] = stronger(one.Hints[plugin.Name()], ask(ctx, wanted, pod, change))
				}
			}
		}
		heard = append(heard, one)
	}
	return heard, nil
}

// ask returns what a hint says, in the words of kube-scheduler's metric; without a function it always queues.
func ask(ctx context.Context, wanted fwk.ClusterEventWithHint, pod *v1.Pod, change both) string {
	if wanted.QueueingHintFn == nil {
		return fwk.Queue.String()
	}
	hint, err := wanted.QueueingHintFn(klog.FromContext(ctx), pod, plain(change.old), plain(change.new))
	if err != nil {
		return "Error"
	}
	return hint.String()
}

// plain is the object itself: a nil one must come as an untyped nil.
func plain(object runtime.Object) any {
	if object == nil {
		return nil
	}
	return object
}

func stronger(one, other string) string {
	if one == "" || one == fwk.QueueSkip.String() {
		return other
	}
	return one
}
