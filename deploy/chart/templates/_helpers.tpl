{{/* The image of Evenkeel; without a tag it is that of the chart's version. */}}
{{- define "evenkeel.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The image of the component secondScheduler. */}}
{{- define "evenkeel.schedulerImage" -}}
{{ .Values.schedulerImage.repository }}:{{ .Values.schedulerImage.tag }}
{{- end }}

{{/* The configuration: the shipped file, with the fields of the values over it. */}}
{{- define "evenkeel.config" -}}
{{- $shipped := .Files.Get "files/config.yaml" | replace "evenkeel-system" .Release.Namespace -}}
{{- if .Values.config -}}
{{ toYaml (mergeOverwrite (fromYaml $shipped) .Values.config) }}
{{- else -}}
{{ $shipped }}
{{- end -}}
{{- end }}
