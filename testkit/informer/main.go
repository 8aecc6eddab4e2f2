// SPDX-License-Identifier: Apache-2.0

// A plain client-go program: it informs itself about what kube-proxy informs itself about, and tells on demand what it
// holds. Commands come on its input, one a line; each is answered by one line of JSON on its output.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var resources = map[string]schema.GroupVersionResource{
	"nodes":          {Version: "v1", Resource: "nodes"},
	"services":       {Version: "v1", Resource: "services"},
	"endpoints":      {Version: "v1", Resource: "endpoints"},
	"endpointslices": {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
}

// What one informer saw. Versions are compared as numbers, as client-go itself does since 1.35.
type tally struct {
	Added    int `json:"added"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Repeated int `json:"repeated"`
	Older    int `json:"older"`
}

type informer struct {
	shared cache.SharedIndexInformer
	lock   sync.Mutex
	seen   tally
}

func version(object any) uint64 {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return 0
	}
	number, _ := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	return number
}

func (i *informer) update(before, after any) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.seen.Updated++
	old, now := version(before), version(after)
	if now == old {
		i.seen.Repeated++
	}
	if now < old {
		i.seen.Older++
	}
}

func (i *informer) count(number *int) {
	i.lock.Lock()
	defer i.lock.Unlock()
	*number++
}

type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// The same object as protobuf carries it: JSON tells an empty list from none, protobuf does not.
func plain(object runtime.Object) (runtime.Object, error) {
	written, isMessage := object.(message)
	if !isMessage {
		return nil, fmt.Errorf("%T has no protobuf form", object)
	}
	text, err := written.Marshal()
	if err != nil {
		return nil, err
	}
	read := reflect.New(reflect.TypeOf(object).Elem()).Interface().(message)
	return read, read.Unmarshal(text)
}

// The objects in the order of their keys, without what differs by design or by encoding.
func (i *informer) objects() ([]json.RawMessage, error) {
	store := i.shared.GetStore()
	keys := store.ListKeys()
	sort.Strings(keys)
	found := make([]json.RawMessage, 0, len(keys))
	for _, key := range keys {
		item, isThere, err := store.GetByKey(key)
		if err != nil || !isThere {
			continue
		}
		copied := item.(runtime.Object).DeepCopyObject()
		copied.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		accessor, err := meta.Accessor(copied)
		if err != nil {
			return nil, err
		}
		accessor.SetResourceVersion("")
		canonical, err := plain(copied)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(canonical)
		if err != nil {
			return nil, err
		}
		found = append(found, text)
	}
	return found, nil
}

type answer struct {
	Synced bool   `json:"synced"`
	Count  int    `json:"count"`
	Digest string `json:"digest"`
	Tally  tally  `json:"tally"`
}

func (i *informer) digest() (answer, error) {
	objects, err := i.objects()
	if err != nil {
		return answer{}, err
	}
	hash := sha256.New()
	for _, object := range objects {
		hash.Write(object)
		hash.Write([]byte{'\n'})
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	return answer{i.shared.HasSynced(), len(objects), hex.EncodeToString(hash.Sum(nil)), i.seen}, nil
}

func obey(line string, all map[string]*informer) (any, error) {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "digest":
		found := map[string]answer{}
		for name, one := range all {
			digest, err := one.digest()
			if err != nil {
				return nil, err
			}
			found[name] = digest
		}
		return found, nil
	case "dump":
		found := map[string][]json.RawMessage{}
		for name, one := range all {
			objects, err := one.objects()
			if err != nil {
				return nil, err
			}
			found[name] = objects
		}
		text, err := json.Marshal(found)
		if err != nil {
			return nil, err
		}
		return map[string]string{"file": rest}, os.WriteFile(rest, text, 0o600)
	}
	return nil, fmt.Errorf("digest or dump FILE, got %q", line)
}

func run() error {
	server := flag.String("server", "", "where the API is")
	token := flag.String("token", "", "bearer token")
	ca := flag.String("ca", "", "file with the authority of an https server")
	node := flag.String("node", "", "the one Node to ask for, as kube-proxy does; all where it is empty")
	isJSON := flag.Bool("json", false, "ask for JSON alone, not for protobuf")
	isFleet := flag.Bool("fleet", false, "be many programs instead: the first line of input says which")
	flag.Parse()
	if *isFleet {
		return runFleet(os.Stdin)
	}
	config := &rest.Config{Host: *server, BearerToken: *token, QPS: 100, Burst: 200}
	config.CAFile = *ca
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if *isJSON {
		config.AcceptContentTypes = "application/json"
		config.ContentType = "application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	ofOne := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = "metadata.name=" + *node
		}))
	all := map[string]*informer{}
	for name, resource := range resources {
		from := factory
		if name == "nodes" && *node != "" {
			from = ofOne
		}
		generic, err := from.ForResource(resource)
		if err != nil {
			return err
		}
		one := &informer{shared: generic.Informer()}
		all[name] = one
		_, err = one.shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { one.count(&one.seen.Added) },
			UpdateFunc: one.update,
			DeleteFunc: func(any) { one.count(&one.seen.Deleted) },
		})
		if err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	startedAt := time.Now()
	factory.StartWithContext(ctx)
	ofOne.StartWithContext(ctx)
	go func() {
		factory.WaitForCacheSync(ctx.Done())
		ofOne.WaitForCacheSync(ctx.Done())
		fmt.Fprintf(os.Stderr, "synced after %s\n", time.Since(startedAt).Round(time.Millisecond))
	}()
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		found, err := obey(lines.Text(), all)
		if err != nil {
			found = map[string]string{"error": err.Error()}
		}
		if err := out.Encode(found); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
