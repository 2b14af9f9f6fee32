package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// judgeLine judges one case with a scheduler of its own.
func judgeLine(line []byte, answer *Answer) error {
	found := &Case{}
	err := decode(line, found)
	answer.ID = found.ID
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	objects, refused, err := found.store(ctx)
	if err != nil {
		return err
	}
	var change both
	if found.Change != nil {
		var more []string
		if change, more, err = found.storeChange(ctx); err != nil {
			return err
		}
		refused = append(refused, more...)
	}
	answer.Refused = refused
	configuration := found.Config
	found.ID, found.Config = "", nil
	answer.Stored = found
	add(&objects, running(append(found.Pods[:len(found.Pods):len(found.Pods)], pending(found.Pod))))
	built, err := newScheduler(ctx, objects, configuration, found.Pod.Spec.SchedulerName)
	if err != nil {
		return err
	}
	if found.Change != nil {
		answer.Heard, err = built.hear(ctx, found.Pod, change, found.Change.Kind)
		return err
	}
	return built.judge(ctx, found.Pod, answer)
}

// pending is the pod as the informers see it: a pod that names its node would count as bound there.
func pending(pod *v1.Pod) *v1.Pod {
	seen := pod.DeepCopy()
	seen.Spec.NodeName = ""
	return seen
}

// judge asks the scheduler itself first, then its plugins one by one for what the scheduler does not tell.
func (s *Scheduler) judge(ctx context.Context, pod *v1.Pod, answer *Answer) error {
	if err := s.Cache.UpdateSnapshot(klog.FromContext(ctx), s.snapshot); err != nil {
		return err
	}
	answer.PreEnqueue = s.preEnqueue(ctx, pod)
	// A term that does not parse is no error here: a plugin's PreFilter says so.
	info, _ := framework.NewPodInfo(pod)
	state := framework.NewCycleState()
	result, err := s.SchedulePod(ctx, s.framework, state, &framework.QueuedPodInfo{PodInfo: info})
	var unfit *framework.FitError
	switch {
	case errors.As(err, &unfit):
		answer.Reason = v1.PodReasonUnschedulable
		return s.unfit(ctx, state, pod, unfit, answer)
	case err == scheduler.ErrNoNodesAvailable:
		answer.Reason, answer.Message = v1.PodReasonUnschedulable, err.Error()
		return nil
	case err != nil:
		answer.Reason, answer.Message = v1.PodReasonSchedulerError, err.Error()
		return nil
	}
	answer.Node = result.SuggestedHost
	return s.fit(ctx, pod, result, answer)
}

func (s *Scheduler) preEnqueue(ctx context.Context, pod *v1.Pod) *Status {
	for _, plugin := range s.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			return newStatus(status.WithPlugin(plugin.Name()))
		}
	}
	return nil
}

// unfit tells why no node takes the pod, and what preemption could do about it.
func (s *Scheduler) unfit(ctx context.Context, state fwk.CycleState, pod *v1.Pod, unfit *framework.FitError, answer *Answer) error {
	statuses := unfit.Diagnosis.NodeToStatus
	if unfit.Diagnosis.PreFilterMsg != "" {
		answer.PreFilter = newStatus(statuses.AbsentNodesStatus())
	}
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return err
	}
	answer.Rejected = map[string]*Status{}
	for _, node := range nodes {
		answer.Rejected[node.Node().Name] = newStatus(statuses.Get(node.Node().Name))
	}
	answer.Skipped = skipped(state)
	if s.framework.HasPostFilterPlugins() {
		if answer.PostFilter, err = s.postFilter(ctx, state, pod, unfit); err != nil {
			return err
		}
	}
	answer.Message = unfit.Error()
	return nil
}

// fit runs the filters again for the verdicts that the scheduler does not tell when it succeeds, then scores every
// node that passes, a single one too.
func (s *Scheduler) fit(ctx context.Context, pod *v1.Pod, result scheduler.ScheduleResult, answer *Answer) error {
	state := framework.NewCycleState()
	feasible, err := s.filter(ctx, state, pod, answer)
	if err != nil {
		return err
	}
	// Without a score plugin the scheduler takes the first node that fits, and a nominated one it tries alone.
	everyNode := s.framework.HasScorePlugins() && pod.Status.NominatedNodeName == ""
	if everyNode && len(feasible) != result.FeasibleNodes {
		return fmt.Errorf("the scheduler found %d nodes, its plugins %d", result.FeasibleNodes, len(feasible))
	}
	for _, node := range feasible {
		answer.Feasible = append(answer.Feasible, node.Node().Name)
	}
	err = s.score(ctx, state, pod, feasible, answer)
	answer.Skipped = skipped(state)
	return err
}

func (s *Scheduler) filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, answer *Answer) ([]fwk.NodeInfo, error) {
	narrowed, status, narrowing := s.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return nil, fmt.Errorf("a second PreFilter failed: %w", status.AsError())
	}
	nodes, err := s.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	absent := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(narrowing)))
	answer.Rejected = map[string]*Status{}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status := absent
		if narrowed.AllNodes() || narrowed.NodeNames.Has(node.Node().Name) {
			status = s.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		}
		if status.Code() == fwk.Error {
			return nil, fmt.Errorf("a second Filter failed: %w", status.AsError())
		}
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			answer.Rejected[node.Node().Name] = newStatus(status)
		}
	}
	return feasible, nil
}

func (s *Scheduler) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, answer *Answer) error {
	if status := s.framework.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		answer.ScoreError = status.AsError().Error()
		return nil
	}
	scored, status := s.framework.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		answer.ScoreError = status.AsError().Error()
		return nil
	}
	answer.Weights, answer.Scores, answer.Totals = map[string]int64{}, map[string]map[string]*Score{}, map[string]int64{}
	for _, plugin := range s.framework.ListPlugins().Score.Enabled {
		answer.Weights[plugin.Name] = int64(plugin.Weight)
	}
	for _, node := range scored {
		answer.Totals[node.Name] = node.TotalScore
		for i, score := range node.Scores {
			if answer.Scores[score.Name] == nil {
				answer.Scores[score.Name] = map[string]*Score{}
			}
			normalised := score.Score / answer.Weights[score.Name]
			answer.Scores[score.Name][node.Name] = &Score{Raw: node.RawScores[i].Score, Normalised: normalised}
		}
	}
	return nil
}

func skipped(state fwk.CycleState) *Skipped {
	return &Skipped{Filter: sorted(state.GetSkipFilterPlugins()), Score: sorted(state.GetSkipScorePlugins())}
}

func sorted(names sets.Set[string]) []string {
	listed := names.UnsortedList()
	slices.Sort(listed)
	return listed
}
