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
