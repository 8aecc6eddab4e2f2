{{/* The image by digest, or by tag. */}}
{{- define "edge-health.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* Texts as CEL writes a list of them. */}}
{{- define "edge-health.quoted" -}}
{{- range $i, $text := . }}{{ if $i }}, {{ end }}'{{ $text }}'{{ end }}
{{- end -}}

{{/* What each Pod takes from the values of its component, `of`. */}}
{{- define "edge-health.placement" -}}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Objects as deploy/ has them, in this namespace: `files` of the folder `of`, but for accounts and roles that others make. */}}
{{- define "edge-health.files" -}}
{{- $ofRbac := list "ServiceAccount" "Role" "RoleBinding" "ClusterRole" "ClusterRoleBinding" }}
{{- range .files }}
{{- range $.root.Files.Get (printf "files/%s/%s.yaml" $.of .) | replace "edge-system" $.root.Release.Namespace | splitList "\n---\n" }}
{{- if or $.root.Values.rbac.enabled (not (has (fromYaml .).kind $ofRbac)) }}
---
{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
