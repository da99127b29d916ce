{{- /* The agent's arguments: only those that the values set. A number is written as one, as Helm has floats. */ -}}
{{- define "nines.agentArguments" -}}
{{- $all := list "agent" -}}
{{- with .Values.agent -}}
{{- if .tiers }}{{ $all = append $all (printf "--tiers=%s" (join "," .tiers)) }}{{ end -}}
{{- if .interval }}{{ $all = append $all (printf "--interval=%s" .interval) }}{{ end -}}
{{- if .duration }}{{ $all = append $all (printf "--duration=%s" .duration) }}{{ end -}}
{{- if not (kindIs "invalid" .rate) }}{{ $all = append $all (printf "--rate=%d" (int64 .rate)) }}{{ end -}}
{{- if not (kindIs "invalid" .idle) }}{{ $all = append $all (printf "--idle=%v" .idle) }}{{ end -}}
{{- if .budget.cpuADay }}{{ $all = append $all (printf "--cpu-a-day=%s" .budget.cpuADay) }}{{ end -}}
{{- if not (kindIs "invalid" .budget.packetsADay) }}{{ $all = append $all (printf "--packets-a-day=%d" (int64 .budget.packetsADay)) }}{{ end -}}
{{- if eq .onBroken "evict" }}{{ $all = append $all "--on-broken=evict" }}{{ end -}}
{{- range .arguments }}{{ $all = append $all . }}{{ end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}
