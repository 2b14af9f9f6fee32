package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	systemclasses "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	podstrategy "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
)

// store does to the case's objects what the API server does on creation, and returns all of them but the pods.
// What it would refuse about a pod comes back as text: such a case cannot occur in a cluster.
func (c *Case) store(ctx context.Context) ([]runtime.Object, []string, error) {
	c.Namespaces = append(c.Namespaces, c.missingNamespaces()...)
	objects := c.others()
	for _, object := range objects {
		if err := storeObject(object); err != nil {
			return nil, nil, err
		}
	}
	var refused []string
	for _, pod := range append([]*v1.Pod{c.Pod}, c.Pods...) {
		problems, err := c.storePod(ctx, pod)
		if err != nil {
			return nil, nil, err
		}
		for _, problem := range problems {
			refused = append(refused, fmt.Sprintf("pod %s: %s", pod.Name, problem))
		}
	}
	return objects, refused, nil
}

func (c *Case) missingNamespaces() []*v1.Namespace {
	known := map[string]bool{}
	for _, namespace := range c.Namespaces {
		known[namespace.Name] = true
	}
	var missing []*v1.Namespace
	for _, pod := range append([]*v1.Pod{c.Pod}, c.Pods...) {
		name := pod.Namespace
		if name == "" {
			name = v1.NamespaceDefault
		}
		if !known[name] {
			known[name] = true
			namespace := &v1.Namespace{}
			namespace.Name = name
			missing = append(missing, namespace)
		}
	}
	return missing
}

// storeObject fills in defaults, and the identity that a case need not name.
func storeObject(object runtime.Object) error {
	legacyscheme.Scheme.Default(object)
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if accessor.GetNamespace() == "" && namespaced(object) {
		accessor.SetNamespace(v1.NamespaceDefault)
	}
	if accessor.GetUID() == "" {
		kind := fmt.Sprintf("%T", object)
		accessor.SetUID(types.UID(fmt.Sprintf("uid-%s-%s-%s", kind[1:], accessor.GetNamespace(), accessor.GetName())))
	}
	if accessor.GetResourceVersion() == "" {
		accessor.SetResourceVersion("1")
	}
	return nil
}

func namespaced(object runtime.Object) bool {
	switch object.(type) {
	case *v1.Node, *v1.Namespace, *v1.PersistentVolume, *schedulingv1.PriorityClass,
		*storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver, *storagev1.VolumeAttachment:
		return false
	}
	return true
}

// storePod runs the admission plugins that change pods by default, then the registry's preparation, which merges
// matchLabelKeys and fills in pod-level resources. The status of the case stays: it stands for what came later.
func (c *Case) storePod(ctx context.Context, pod *v1.Pod) ([]string, error) {
	if err := storeObject(pod); err != nil {
		return nil, err
	}
	if err := c.admitPriority(pod); err != nil {
		return nil, err
	}
	status := pod.Status.DeepCopy()
	internal := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return nil, err
	}
	if err := admitTolerations(ctx, internal); err != nil {
		return nil, err
	}
	podstrategy.Strategy.PrepareForCreate(ctx, internal)
	var refused []string
	for _, problem := range podstrategy.Strategy.Validate(ctx, internal) {
		refused = append(refused, problem.Error())
	}
	if err := legacyscheme.Scheme.Convert(internal, pod, nil); err != nil {
		return nil, err
	}
	status.QOSClass = pod.Status.QOSClass
	if status.Phase == "" {
		status.Phase = pod.Status.Phase
	}
	pod.Status = *status
	return refused, nil
}

func admitTolerations(ctx context.Context, pod *core.Pod) error {
	plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
	plugin.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	attributes := admission.NewAttributesRecord(
		pod, nil, core.SchemeGroupVersion.WithKind("Pod"), pod.Namespace, pod.Name,
		core.SchemeGroupVersion.WithResource("pods"), "", admission.Create, nil, false, nil)
	return plugin.Admit(ctx, attributes, nil)
}

// admitPriority takes priority and preemption policy from the class, as the Priority admission plugin does, but lets a
// case without a class say them itself.
func (c *Case) admitPriority(pod *v1.Pod) error {
	if pod.Spec.PriorityClassName == "" && pod.Spec.Priority != nil {
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = policy(v1.PreemptLowerPriority)
		}
		return nil
	}
	class, err := c.priorityClass(pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	pod.Spec.PriorityClassName = class.Name
	pod.Spec.Priority = &class.Value
	pod.Spec.PreemptionPolicy = policy(v1.PreemptLowerPriority)
	if class.PreemptionPolicy != nil {
		pod.Spec.PreemptionPolicy = policy(*class.PreemptionPolicy)
	}
	return nil
}

func (c *Case) priorityClass(name string) (schedulingv1.PriorityClass, error) {
	for _, class := range c.PriorityClasses {
		if class.Name == name || (name == "" && class.GlobalDefault) {
			return *class, nil
		}
	}
	for _, class := range systemclasses.SystemPriorityClasses() {
		if class.Name == name {
			return *class, nil
		}
	}
	if name != "" {
		return schedulingv1.PriorityClass{}, fmt.Errorf("no PriorityClass with name %s was found", name)
	}
	return schedulingv1.PriorityClass{}, nil
}

func policy(value v1.PreemptionPolicy) *v1.PreemptionPolicy { return &value }
