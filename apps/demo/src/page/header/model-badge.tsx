import { Cloud, CloudOff } from 'lucide-react'
import type { DemoInfo } from '../../info.ts'

export function ModelBadge({ info }: { readonly info: DemoInfo | undefined }) {
  if (!info) return null
  const Icon = info.offline ? CloudOff : Cloud
  return (
    <span data-testid="model" className="flex min-w-0 items-center gap-1.5 text-sm text-ink-soft">
      <Icon className="size-4 shrink-0" aria-hidden="true" />
      <span className="truncate">
        {info.provider} · {info.modelId}
      </span>
      {info.offline && <span className="rounded-full border border-line px-2 text-xs leading-5">offline</span>}
    </span>
  )
}
