import { lazy, memo, Suspense } from 'react'
import { speakable } from '../announce/speakable.ts'
import type { MarkdownProps } from './markdown-body.tsx'
import { PlainText } from './plain-text.tsx'

/** The half of the page's code that only an answer needs. */
const Body = lazy(() => import('./markdown-body.tsx').then(({ MarkdownBody }) => ({ default: MarkdownBody })))

/** Text of a model. Half-finished Markdown is shown as it will look; HTML in it is sanitised. */
export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  return (
    <Suspense
      fallback={
        <div className="markdown whitespace-pre-wrap">
          <PlainText text={speakable(text)} />
        </div>
      }
    >
      <Body text={text} streaming={streaming} />
    </Suspense>
  )
})
