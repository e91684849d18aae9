{{- define "commentsvc.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "commentsvc.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "commentsvc.labels" -}}
{{ include "commentsvc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* A setting's variable: COMMENTSVC_MAIL_PASSWORD for "mail.password". */}}
{{- define "commentsvc.variable" -}}
COMMENTSVC_{{ . | replace "." "_" | upper }}
{{- end -}}

{{/* The public address of the service, with which the Ingress takes its host. */}}
{{- define "commentsvc.url" -}}
{{- dig "server" "public_url" "" .Values.settings -}}
{{- end -}}

{{/* What cannot work ends here, and the text says what to write. */}}
{{- define "commentsvc.check" -}}
{{- if not .Values.config -}}
{{- if not (dig "site" "origins" "" .Values.settings) -}}
{{- fail "settings.site.origins is missing: the addresses of your blog, such as [https://blog.example]" -}}
{{- end -}}
{{- if not (include "commentsvc.url" .) -}}
{{- fail "settings.server.public_url is missing: the address of this service, such as https://comments.example" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.secrets.settings (not .Values.secrets.name) -}}
{{- fail "secrets.name is missing: the Secret that holds what secrets.settings lists" -}}
{{- end -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- range list "database.url" "auth.secret_key" -}}
{{- if not (has . $.Values.secrets.settings) -}}
{{- fail (printf "several replicas share PostgreSQL and a key: put %s into a Secret and into secrets.settings" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .Values.ingress.enabled -}}
{{- if not (include "commentsvc.url" .) -}}
{{- fail "settings.server.public_url is missing: the Ingress takes its host from it" -}}
{{- end -}}
{{- if not (dig "server" "trusted_proxies" "" .Values.settings) -}}
{{- fail "settings.server.trusted_proxies is missing: the network of the Ingress controller's pods, such as [10.42.0.0/16]; without it all readers share one rate limit" -}}
{{- end -}}
{{- end -}}
{{- end -}}
