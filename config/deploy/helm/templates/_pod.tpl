{{/* What the pods of both roles have in common: (dict "root" $ "role" "intake"). */}}
{{- define "dripfeed.pod" -}}
serviceAccountName: {{ include "dripfeed.name" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  # Secrets are files of this group, and not for others.
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "dripfeed.selector" . | nindent 8 }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: settings
    configMap: { name: {{ include "dripfeed.name" .root }} }
  - name: redis
    secret:
      secretName: {{ .root.Values.redis.urlSecret.name }}
      defaultMode: 0440
      items: [{ key: {{ .root.Values.redis.urlSecret.key | quote }}, path: url }]
  {{- /* By number: a Secret's name may have dots, and be longer. */}}
  {{- range $number, $secret := .root.Values.secrets }}
  - name: secret-{{ $number }}
    secret: { secretName: {{ $secret }}, defaultMode: 0440 }
  {{- end }}
{{- end }}

{{- define "dripfeed.container" -}}
name: {{ .role }}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: ["-c", "/etc/dripfeed/dripfeed.yaml", {{ .role | quote }}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
# It listens once it has reached Redis, and waits 30 s for that.
startupProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 2
  failureThreshold: 20
# Redis is no reason to restart a process, so it isn't part of /livez.
livenessProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 3
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{- define "dripfeed.mounts" -}}
- { name: settings, mountPath: /etc/dripfeed, readOnly: true }
- { name: redis, mountPath: /run/secrets/dripfeed-redis, readOnly: true }
{{- range $number, $secret := .Values.secrets }}
- { name: secret-{{ $number }}, mountPath: /run/secrets/{{ $secret }}, readOnly: true }
{{- end }}
{{- end }}

{{/* Other settings are other pods. */}}
{{- define "dripfeed.annotations" -}}
checksum/settings: {{ .Values.config | toYaml | sha256sum }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}
