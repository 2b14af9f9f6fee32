package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// postFilter runs the PostFilter plugins and completes the error's text with what they say, as the scheduler does.
// Nobody is evicted: the plugin's own seam for tests is replaced.
func (s *Scheduler) postFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, unfit *framework.FitError) (*PostFilter, error) {
	found := &PostFilter{Candidates: map[string]*Candidate{}, Hopeless: map[string]*Status{}}
	if s.preempts() {
		plugin := s.defaultPreemption()
		if plugin == nil {
			return nil, errors.New("config: DefaultPreemption is out of reach where podGroupPostFilter does not have it")
		}
		plugin.Executor.PreemptPod = func(context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string) (bool, error) {
			return false, nil
		}
		plugin.Evaluator.Interface = &witness{plugin.Evaluator.Interface, found}
	}
	result, status := s.framework.RunPostFilterPlugins(ctx, state, pod, unfit.Diagnosis.NodeToStatus)
	unfit.Diagnosis.PostFilterMsg = status.Message()
	found.Status = Status{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: status.Reasons()}
	if result != nil && result.NominatingInfo != nil && result.Mode() == fwk.ModeOverride {
		found.Nominated = result.NominatedNodeName
		found.Clears = found.Nominated == ""
	}
	if candidate := found.Candidates[found.Nominated]; candidate != nil {
		found.Victims = candidate.Victims
	}
	return found, nil
}

func (s *Scheduler) preempts() bool {
	for _, plugin := range s.framework.ListPlugins().PostFilter.Enabled {
		if plugin.Name == defaultpreemption.Name {
			return true
		}
	}
	return false
}

// defaultPreemption is the very plugin that PostFilter runs; the framework hands plugins out for pod groups only.
func (s *Scheduler) defaultPreemption() *defaultpreemption.DefaultPreemption {
	for _, plugin := range s.framework.PodGroupPostFilterPlugins() {
		if found, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			return found
		}
	}
	return nil
}

// witness writes down what the preemption plugin finds on each node, and makes it start with the first node.
type witness struct {
	preemption.Interface
	found *PostFilter
}

// GetOffsetAndNumCandidates leaves the number as it is; the offset would be random.
func (w *witness) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, wanted := w.Interface.GetOffsetAndNumCandidates(nodes)
	return 0, wanted
}

// SelectVictimsOnNode runs for one node after the other, as the scheduler has a parallelism of 1.
func (w *witness) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, preemptor *v1.Pod, node fwk.NodeInfo,
	possible []*preemption.DomainVictim, budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	victims, violations, status := w.Interface.SelectVictimsOnNode(ctx, state, preemptor, node, possible, budgets)
	if status.IsSuccess() {
		names := make([]string, 0, len(victims))
		for _, victim := range victims {
			names = append(names, victim.Namespace+"/"+victim.Name)
		}
		w.found.Candidates[node.Node().Name] = &Candidate{names, violations}
	} else {
		w.found.Hopeless[node.Node().Name] = newStatus(status)
	}
	return victims, violations, status
}
