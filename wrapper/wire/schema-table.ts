// SPDX-License-Identifier: Apache-2.0
// Written by test/wrapper/wire/make-schema.mjs from k8s.io/api and k8s.io/apimachinery v0.36.3; not to be edited by hand.

/** Messages, and beneath each its fields: number, name in JSON, type, and what Go does with the zero value. */
export const SCHEMA_TABLE = `
Condition
  1 type string always
  2 status string always
  3 observedGeneration int64 omitempty
  4 lastTransitionTime Time always
  5 reason string always
  6 message string always
ListMeta
  1 selfLink string omitempty
  2 resourceVersion string omitempty
  3 continue string omitempty
  4 remainingItemCount int64 pointer
  5 shardInfo ShardInfo pointer
ManagedFieldsEntry
  1 manager string omitempty
  2 operation string omitempty
  3 apiVersion string omitempty
  4 time Time pointer
  6 fieldsType string omitempty
  7 fieldsV1 FieldsV1 pointer
  8 subresource string omitempty
ObjectMeta
  1 name string omitempty
  2 generateName string omitempty
  3 namespace string omitempty
  4 selfLink string omitempty
  5 uid string omitempty
  6 resourceVersion string omitempty
  7 generation int64 omitempty
  8 creationTimestamp Time omitzero
  9 deletionTimestamp Time pointer
  10 deletionGracePeriodSeconds int64 pointer
  11 labels map:string omitempty
  12 annotations map:string omitempty
  13 ownerReferences []OwnerReference omitempty
  14 finalizers []string omitempty
  17 managedFields []ManagedFieldsEntry omitempty
OwnerReference
  1 kind string always
  3 name string always
  4 uid string always
  5 apiVersion string always
  6 controller bool pointer
  7 blockOwnerDeletion bool pointer
ShardInfo
  1 selector string always
Status
  1 metadata ListMeta omitempty
  2 status string omitempty
  3 message string omitempty
  4 reason string omitempty
  5 details StatusDetails pointer
  6 code int32 omitempty
StatusCause
  1 reason string omitempty
  2 message string omitempty
  3 field string omitempty
StatusDetails
  1 name string omitempty
  2 group string omitempty
  3 kind string omitempty
  4 causes []StatusCause omitempty
  5 retryAfterSeconds int32 omitempty
  6 uid string omitempty
core.v1.AttachedVolume
  1 name string always
  2 devicePath string always
core.v1.ClientIPConfig
  1 timeoutSeconds int32 pointer
core.v1.ConfigMapNodeConfigSource
  1 namespace string always
  2 name string always
  3 uid string omitempty
  4 resourceVersion string omitempty
  5 kubeletConfigKey string always
core.v1.ContainerImage
  1 names []string always
  2 sizeBytes int64 omitempty
core.v1.DaemonEndpoint
  1 Port int32 always
core.v1.EndpointAddress
  1 ip string always
  2 targetRef core.v1.ObjectReference pointer
  3 hostname string omitempty
  4 nodeName string pointer
core.v1.EndpointPort
  1 name string omitempty
  2 port int32 always
  3 protocol string omitempty
  4 appProtocol string pointer
core.v1.EndpointSubset
  1 addresses []core.v1.EndpointAddress omitempty
  2 notReadyAddresses []core.v1.EndpointAddress omitempty
  3 ports []core.v1.EndpointPort omitempty
core.v1.Endpoints
  1 metadata ObjectMeta omitempty
  2 subsets []core.v1.EndpointSubset omitempty
core.v1.LoadBalancerIngress
  1 ip string omitempty
  2 hostname string omitempty
  3 ipMode string pointer
  4 ports []core.v1.PortStatus omitempty
core.v1.LoadBalancerStatus
  1 ingress []core.v1.LoadBalancerIngress omitempty
core.v1.Node
  1 metadata ObjectMeta omitempty
  2 spec core.v1.NodeSpec omitempty
  3 status core.v1.NodeStatus omitempty
core.v1.NodeAddress
  1 type string always
  2 address string always
core.v1.NodeCondition
  1 type string always
  2 status string always
  3 lastHeartbeatTime Time omitempty
  4 lastTransitionTime Time omitempty
  5 reason string omitempty
  6 message string omitempty
core.v1.NodeConfigSource
  2 configMap core.v1.ConfigMapNodeConfigSource pointer
core.v1.NodeConfigStatus
  1 assigned core.v1.NodeConfigSource pointer
  2 active core.v1.NodeConfigSource pointer
  3 lastKnownGood core.v1.NodeConfigSource pointer
  4 error string omitempty
core.v1.NodeDaemonEndpoints
  1 kubeletEndpoint core.v1.DaemonEndpoint omitempty
core.v1.NodeFeatures
  1 supplementalGroupsPolicy bool pointer
core.v1.NodeRuntimeHandler
  1 name string always
  2 features core.v1.NodeRuntimeHandlerFeatures pointer
core.v1.NodeRuntimeHandlerFeatures
  1 recursiveReadOnlyMounts bool pointer
  2 userNamespaces bool pointer
core.v1.NodeSpec
  1 podCIDR string omitempty
  2 externalID string omitempty
  3 providerID string omitempty
  4 unschedulable bool omitempty
  5 taints []core.v1.Taint omitempty
  6 configSource core.v1.NodeConfigSource pointer
  7 podCIDRs []string omitempty
core.v1.NodeStatus
  1 capacity map:Quantity omitempty
  2 allocatable map:Quantity omitempty
  3 phase string omitempty
  4 conditions []core.v1.NodeCondition omitempty
  5 addresses []core.v1.NodeAddress omitempty
  6 daemonEndpoints core.v1.NodeDaemonEndpoints omitempty
  7 nodeInfo core.v1.NodeSystemInfo omitempty
  8 images []core.v1.ContainerImage omitempty
  9 volumesInUse []string omitempty
  10 volumesAttached []core.v1.AttachedVolume omitempty
  11 config core.v1.NodeConfigStatus pointer
  12 runtimeHandlers []core.v1.NodeRuntimeHandler omitempty
  13 features core.v1.NodeFeatures pointer
  14 declaredFeatures []string omitempty
core.v1.NodeSwapStatus
  1 capacity int64 pointer
core.v1.NodeSystemInfo
  1 machineID string always
  2 systemUUID string always
  3 bootID string always
  4 kernelVersion string always
  5 osImage string always
  6 containerRuntimeVersion string always
  7 kubeletVersion string always
  8 kubeProxyVersion string always
  9 operatingSystem string always
  10 architecture string always
  11 swap core.v1.NodeSwapStatus pointer
core.v1.ObjectReference
  1 kind string omitempty
  2 namespace string omitempty
  3 name string omitempty
  4 uid string omitempty
  5 apiVersion string omitempty
  6 resourceVersion string omitempty
  7 fieldPath string omitempty
core.v1.PortStatus
  1 port int32 always
  2 protocol string always
  3 error string pointer
core.v1.Service
  1 metadata ObjectMeta omitempty
  2 spec core.v1.ServiceSpec omitempty
  3 status core.v1.ServiceStatus omitempty
core.v1.ServicePort
  1 name string omitempty
  2 protocol string omitempty
  3 port int32 always
  4 targetPort IntOrString omitempty
  5 nodePort int32 omitempty
  6 appProtocol string pointer
core.v1.ServiceSpec
  1 ports []core.v1.ServicePort omitempty
  2 selector map:string omitempty
  3 clusterIP string omitempty
  4 type string omitempty
  5 externalIPs []string omitempty
  7 sessionAffinity string omitempty
  8 loadBalancerIP string omitempty
  9 loadBalancerSourceRanges []string omitempty
  10 externalName string omitempty
  11 externalTrafficPolicy string omitempty
  12 healthCheckNodePort int32 omitempty
  13 publishNotReadyAddresses bool omitempty
  14 sessionAffinityConfig core.v1.SessionAffinityConfig pointer
  17 ipFamilyPolicy string pointer
  18 clusterIPs []string omitempty
  19 ipFamilies []string omitempty
  20 allocateLoadBalancerNodePorts bool pointer
  21 loadBalancerClass string pointer
  22 internalTrafficPolicy string pointer
  23 trafficDistribution string pointer
core.v1.ServiceStatus
  1 loadBalancer core.v1.LoadBalancerStatus omitempty
  2 conditions []Condition omitempty
core.v1.SessionAffinityConfig
  1 clientIP core.v1.ClientIPConfig pointer
core.v1.Taint
  1 key string always
  2 value string omitempty
  3 effect string always
  4 timeAdded Time pointer
discovery.v1.Endpoint
  1 addresses []string always
  2 conditions discovery.v1.EndpointConditions omitempty
  3 hostname string pointer
  4 targetRef core.v1.ObjectReference pointer
  5 deprecatedTopology map:string omitempty
  6 nodeName string pointer
  7 zone string pointer
  8 hints discovery.v1.EndpointHints pointer
discovery.v1.EndpointConditions
  1 ready bool pointer
  2 serving bool pointer
  3 terminating bool pointer
discovery.v1.EndpointHints
  1 forZones []discovery.v1.ForZone omitempty
  2 forNodes []discovery.v1.ForNode omitempty
discovery.v1.EndpointPort
  1 name string pointer
  2 protocol string pointer
  3 port int32 pointer
  4 appProtocol string pointer
discovery.v1.EndpointSlice
  1 metadata ObjectMeta omitempty
  2 endpoints []discovery.v1.Endpoint always
  3 ports []discovery.v1.EndpointPort always
  4 addressType string always
discovery.v1.ForNode
  1 name string always
discovery.v1.ForZone
  1 name string always
discovery.v1beta1.Endpoint
  1 addresses []string always
  2 conditions discovery.v1beta1.EndpointConditions omitempty
  3 hostname string pointer
  4 targetRef core.v1.ObjectReference pointer
  5 topology map:string omitempty
  6 nodeName string pointer
  7 hints discovery.v1beta1.EndpointHints pointer
discovery.v1beta1.EndpointConditions
  1 ready bool pointer
  2 serving bool pointer
  3 terminating bool pointer
discovery.v1beta1.EndpointHints
  1 forZones []discovery.v1beta1.ForZone omitempty
  2 forNodes []discovery.v1beta1.ForNode omitempty
discovery.v1beta1.EndpointPort
  1 name string pointer
  2 protocol string pointer
  3 port int32 pointer
  4 appProtocol string pointer
discovery.v1beta1.EndpointSlice
  1 metadata ObjectMeta omitempty
  2 endpoints []discovery.v1beta1.Endpoint always
  3 ports []discovery.v1beta1.EndpointPort always
  4 addressType string always
discovery.v1beta1.ForNode
  1 name string always
discovery.v1beta1.ForZone
  1 name string always
networking.v1.ServiceCIDR
  1 metadata ObjectMeta omitempty
  2 spec networking.v1.ServiceCIDRSpec omitempty
  3 status networking.v1.ServiceCIDRStatus omitempty
networking.v1.ServiceCIDRSpec
  1 cidrs []string omitempty
networking.v1.ServiceCIDRStatus
  1 conditions []Condition omitempty
`
