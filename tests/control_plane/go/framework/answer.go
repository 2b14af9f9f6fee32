package main

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// Answer is what the framework says of one case. Texts are empty, and parts null, where there is nothing to say.
type Answer struct {
	ID         string                       `json:"id"`
	Error      string                       `json:"error,omitempty"`   // the case could not be judged
	Refused    []string                     `json:"refused,omitempty"` // what the API server would refuse about a pod
	Stored     *Case                        `json:"stored,omitempty"`  // the objects as a scheduler reads them from the API server
	PreEnqueue *Status                      `json:"preEnqueue,omitempty"`
	PreFilter  *Status                      `json:"preFilter,omitempty"`
	Node       string                       `json:"node,omitempty"`     // chosen by the scheduler
	Message    string                       `json:"message,omitempty"`  // as in the condition, whatever the reason
	Reason     string                       `json:"reason,omitempty"`   // of the condition
	Rejected   map[string]*Status           `json:"rejected,omitempty"` // by node
	Feasible   []string                     `json:"feasible,omitempty"` // nodes
	Skipped    *Skipped                     `json:"skipped,omitempty"`  // plugins
	ScoreError string                       `json:"scoreError,omitempty"`
	Weights    map[string]int64             `json:"weights,omitempty"` // by plugin
	Scores     map[string]map[string]*Score `json:"scores,omitempty"`  // by plugin, by node
	Totals     map[string]int64             `json:"totals,omitempty"`  // weighted, by node
	PostFilter *PostFilter                  `json:"postFilter,omitempty"`
	Heard      []Heard                      `json:"heard,omitempty"` // of the change, event by event
}

// Status is a plugin's verdict.
type Status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// Skipped lists the plugins with nothing to say about the pod.
type Skipped struct {
	Filter []string `json:"filter"`
	Score  []string `json:"score"`
}

// Score is one plugin's score of one node, before its weight.
type Score struct {
	Raw        int64 `json:"raw"`
	Normalised int64 `json:"normalised"`
}

// PostFilter is what the scheduler would do to make room.
type PostFilter struct {
	Status
	Nominated  string                `json:"nominated,omitempty"` // node
	Clears     bool                  `json:"clears,omitempty"`    // an earlier nomination
	Victims    []string              `json:"victims,omitempty"`   // of the nominated node, namespace/name
	Candidates map[string]*Candidate `json:"candidates,omitempty"`
	Hopeless   map[string]*Status    `json:"hopeless,omitempty"` // tried in vain, by node
}

// Candidate is a node where preemption would make room.
type Candidate struct {
	Victims       []string `json:"victims"` // namespace/name, most important first
	PDBViolations int      `json:"pdbViolations"`
}

func newStatus(status *fwk.Status) *Status {
	if status.IsSuccess() {
		return nil
	}
	return &Status{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: status.Reasons()}
}
