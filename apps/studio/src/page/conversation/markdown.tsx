import { lazy, memo, Suspense } from 'react'
import type { MarkdownProps } from './markdown-body.tsx'

/** The half of the page's code that only an answer needs. */
const Body = lazy(() => import('./markdown-body.tsx').then(({ MarkdownBody }) => ({ default: MarkdownBody })))

/** Beyond this a text is shown as it is: to draw it would hold up the page. */
const mostCharacters = 200_000

/** Text of a model. Half-finished Markdown is shown as it will look; HTML in it is sanitised. */
export const Markdown = memo(function Markdown({ text, streaming = false }: MarkdownProps) {
  const plain = <div className="markdown whitespace-pre-wrap">{text}</div>
  if (text.length > mostCharacters) return plain
  return (
    <Suspense fallback={plain}>
      <Body text={text} streaming={streaming} />
    </Suspense>
  )
})
