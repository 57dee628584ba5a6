{{- define "gateway.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "gateway.masterKeySecret" -}}
{{- if and .Values.masterKey .Values.masterKeySecret -}}
{{- fail "set masterKey or masterKeySecret, not both" -}}
{{- else if .Values.masterKeySecret -}}
{{- .Values.masterKeySecret -}}
{{- else -}}
{{- $_ := required "set masterKey or masterKeySecret: the gateways share one master key" .Values.masterKey -}}
{{- include "gateway.name" . -}}-master-key
{{- end -}}
{{- end -}}
