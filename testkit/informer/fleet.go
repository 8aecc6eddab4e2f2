// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// What one informer follows.
type followed struct {
	Group     string `json:"group"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Labels    string `json:"labels"`
	Fields    string `json:"fields"`
}

// A program with one connection and a token of its own.
type member struct {
	Token   string     `json:"token"`
	Follows []followed `json:"follows"`
}

type fleet struct {
	Server  string   `json:"server"`
	CA      string   `json:"ca"`
	SpreadS float64  `json:"spreadS"`
	Members []member `json:"members"`
}

func (one member) start(ctx context.Context, all fleet) ([]cache.InformerSynced, error) {
	// A dialer of its own gives each its own connection: client-go shares those of equal settings.
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	config := &rest.Config{Host: all.Server, BearerToken: one.Token, Dial: dialer.DialContext}
	config.CAData = []byte(all.CA)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	synced := []cache.InformerSynced{}
	for _, what := range one.Follows {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(what.Namespace),
			informers.WithTweakListOptions(func(options *metav1.ListOptions) {
				options.LabelSelector = what.Labels
				options.FieldSelector = what.Fields
			}))
		resource := schema.GroupVersionResource{Group: what.Group, Version: "v1", Resource: what.Resource}
		generic, err := factory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		synced = append(synced, generic.Informer().HasSynced)
		factory.StartWithContext(ctx)
	}
	return synced, nil
}

// Runs as many programs as its input's first line names, until the input ends. Says "synced" when all have their lists.
func runFleet(input io.Reader) error {
	lines := bufio.NewReaderSize(input, 1<<20)
	text, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	all := fleet{}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	apart := time.Duration(all.SpreadS * float64(time.Second) / float64(max(1, len(all.Members))))
	synced := []cache.InformerSynced{}
	for _, one := range all.Members {
		more, err := one.start(ctx, all)
		if err != nil {
			return err
		}
		synced = append(synced, more...)
		time.Sleep(apart)
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			fmt.Fprintln(os.Stdout, "synced")
		}
	}()
	_, err = io.Copy(io.Discard, lines)
	return err
}
