import { ChevronRight, Lightbulb } from 'lucide-react'
import { Markdown } from './markdown.tsx'

interface ReasoningProps {
  readonly text: string
  readonly streaming?: boolean
}

export function Reasoning({ text, streaming = false }: ReasoningProps) {
  return (
    <details className="group mb-3 rounded-lg border border-line bg-surface text-sm">
      <summary className="flex list-none items-center gap-2 rounded-lg px-3 py-2 text-ink-soft">
        <ChevronRight className="size-4 transition-transform group-open:rotate-90" aria-hidden="true" />
        <Lightbulb className="size-4" aria-hidden="true" />
        {streaming ? 'Thinking …' : 'Thoughts'}
      </summary>
      <div className="border-t border-line px-4 py-3 text-ink-soft">
        <Markdown text={text} streaming={streaming} />
      </div>
    </details>
  )
}
