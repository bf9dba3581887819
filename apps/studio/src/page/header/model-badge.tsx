import { Cloud, Cpu } from 'lucide-react'
import type { StudioInfo } from '../../info.ts'

/** Name of the model that answers. */
export function ModelBadge({ info }: { readonly info: StudioInfo | undefined }) {
  if (!info) return null
  const { model, server } = info
  if (!model)
    return (
      <span data-testid="model" className="truncate text-sm text-ink-soft max-md:order-last max-md:w-full">
        {server}
      </span>
    )
  const Icon = model.offline ? Cpu : Cloud
  return (
    <span
      data-testid="model"
      className="flex min-w-0 items-center gap-1.5 text-sm text-ink-soft max-md:order-last max-md:w-full"
      title={model.offline ? `${model.modelId}: made for this demo, runs without a network` : undefined}
    >
      <Icon className="size-4 shrink-0" aria-hidden="true" />
      <span className="truncate">{model.offline ? 'Offline model, no key needed' : `${model.provider} · ${model.modelId}`}</span>
    </span>
  )
}
