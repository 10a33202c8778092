{{/* The release's name, once: `dripfeed`, or `RELEASE-dripfeed`. A Service's name has at most 63 characters and no dot; the
longest end here is `-processor-metrics`. */}}
{{- define "dripfeed.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | replace "." "-" | trunc 45 | trimSuffix "-" -}}
{{- end }}

{{- define "dripfeed.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What never changes of a role's labels: (dict "root" $ "role" "intake"). */}}
{{- define "dripfeed.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}
