package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	allNodes     = int32(100) // percent
	oneAtATime   = int32(1)
	handlersPoll = time.Millisecond
	patience     = 20 * time.Second
)

// Scheduler is a real scheduler over a fake API server, all of whose informers and handlers have seen every object.
type Scheduler struct {
	*scheduler.Scheduler
	framework framework.Framework
	snapshot  *cache.Snapshot
}

// profiles reads a KubeSchedulerConfiguration as kube-scheduler reads its file; none means the default one.
func profiles(configuration json.RawMessage) ([]config.KubeSchedulerProfile, error) {
	found, err := latest.Default()
	if len(configuration) > 0 && string(configuration) != "null" {
		var object runtime.Object
		object, _, err = configscheme.Codecs.UniversalDecoder().Decode(configuration, nil, nil)
		if err == nil {
			var ok bool
			if found, ok = object.(*config.KubeSchedulerConfiguration); !ok {
				err = fmt.Errorf("got %T", object)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if len(found.Extenders) > 0 {
		return nil, errors.New("config: extenders cannot be judged here")
	}
	for i := range found.Profiles {
		found.Profiles[i].PercentageOfNodesToScore = nil
	}
	return found.Profiles, nil
}

// newScheduler wires a scheduler as kube-scheduler's own command does, and waits until it knows the whole cluster.
func newScheduler(ctx context.Context, objects []runtime.Object, configuration json.RawMessage, name string) (*Scheduler, error) {
	wanted, err := profiles(configuration)
	if err != nil {
		return nil, err
	}
	client := newClient(objects)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	snapshot := cache.NewEmptySnapshot()
	percentage := allNodes
	found, err := scheduler.New(ctx, client, factory, nil, noEvents,
		scheduler.WithProfiles(wanted...),
		scheduler.WithNodeInfoSnapshot(snapshot),
		scheduler.WithPercentageOfNodesToScore(&percentage),
		scheduler.WithParallelism(oneAtATime))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	profile, ok := found.Profiles[name]
	if !ok {
		return nil, fmt.Errorf("pod.spec.schedulerName: no profile of the configuration has the name %q", name)
	}
	if err := waitForObjects(ctx, found, factory); err != nil {
		return nil, err
	}
	return &Scheduler{found, profile, snapshot}, nil
}

// newClient holds the objects and lists each kind in the order of the case: a tracker would list in map order, and the
// order decides whose image size counts and which pod is seen first.
func newClient(objects []runtime.Object) *fake.Clientset {
	client := fake.NewSimpleClientset(objects...)
	places := map[string]int{}
	for place, object := range objects {
		places[identity(object)] = place
	}
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return listInOrder(client.Tracker(), action.(clienttesting.ListActionImpl), places)
	})
	return client
}

func noEvents(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

// waitForObjects asks for the handlers each millisecond; their own wait would ask each tenth of a second.
func waitForObjects(ctx context.Context, found *scheduler.Scheduler, factory informers.SharedInformerFactory) error {
	factory.StartWithContext(ctx)
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if synced := factory.WaitForCacheSyncWithContext(patient); synced.Err != nil {
		return fmt.Errorf("informers did not sync: %w", synced.Err)
	}
	for patient.Err() == nil {
		brief, stop := context.WithTimeout(patient, handlersPoll)
		err := found.WaitForHandlersSync(brief)
		stop()
		if err == nil {
			return nil
		}
	}
	return errors.New("handlers did not sync")
}

// running leaves out finished pods, as the field selector of the scheduler's pod informer does.
func running(pods []*v1.Pod) []*v1.Pod {
	var left []*v1.Pod
	for _, pod := range pods {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			left = append(left, pod)
		}
	}
	return left
}
