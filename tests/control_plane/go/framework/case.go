package main

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubejson "sigs.k8s.io/json"
)

// Case is a cluster and the pod to place in it, as somebody would send the objects to the API server.
type Case struct {
	ID     string          `json:"id,omitempty"`
	Config json.RawMessage `json:"config,omitempty"` // a KubeSchedulerConfiguration, null for the default one
	Pod    *v1.Pod         `json:"pod"`
	Change *Change         `json:"change,omitempty"` // asks for hints about it instead of placing the pod
	Pods   []*v1.Pod       `json:"pods,omitempty"`   // bound, or pending with a nominated node
	Nodes  []*v1.Node      `json:"nodes,omitempty"`

	Namespaces             []*v1.Namespace                 `json:"namespaces,omitempty"`
	Services               []*v1.Service                   `json:"services,omitempty"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
	PriorityClasses        []*schedulingv1.PriorityClass   `json:"priorityClasses,omitempty"`
}

// decode reads a case as strictly as the API server reads objects under strict field validation.
func decode(line []byte, found *Case) error {
	strict, err := kubejson.UnmarshalStrict(line, found)
	if err != nil {
		return fmt.Errorf("cannot read the case: %w", err)
	}
	if len(strict) > 0 {
		return fmt.Errorf("cannot read the case: %w", errors.Join(strict...))
	}
	if found.Pod == nil {
		return errors.New("pod: Required value")
	}
	return nil
}

// others lists all objects but the pods, in the order of the case.
func (c *Case) others() []runtime.Object {
	var objects []runtime.Object
	add(&objects, c.Nodes)
	add(&objects, c.Namespaces)
	add(&objects, c.Services)
	add(&objects, c.ReplicationControllers)
	add(&objects, c.ReplicaSets)
	add(&objects, c.StatefulSets)
	add(&objects, c.PersistentVolumes)
	add(&objects, c.PersistentVolumeClaims)
	add(&objects, c.StorageClasses)
	add(&objects, c.CSINodes)
	add(&objects, c.CSIDrivers)
	add(&objects, c.CSIStorageCapacities)
	add(&objects, c.VolumeAttachments)
	add(&objects, c.PodDisruptionBudgets)
	add(&objects, c.PriorityClasses)
	return objects
}

func add[T runtime.Object](objects *[]runtime.Object, more []T) {
	for _, object := range more {
		*objects = append(*objects, object)
	}
}
