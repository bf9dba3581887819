import { memo, Suspense } from 'react'
import { speakable } from '../announce/speakable.ts'
import { lazily } from '../parts/lazily.ts'
import type { MarkdownProps } from './markdown-body.tsx'
import { PlainText } from './plain-text.tsx'

/** Part of the page's code that only answers need. It is loaded on demand. */
const Body = lazily(async () => (await import('./markdown-body.tsx')).MarkdownBody)

/** Text of a model. Incomplete Markdown is shown as it will look; its HTML is sanitized. */
export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  return (
    <Suspense
      fallback={
        <div className="markdown whitespace-pre-wrap" data-plain="true">
          <PlainText text={speakable(text)} />
        </div>
      }
    >
      <Body text={text} streaming={streaming} />
    </Suspense>
  )
})
