import { isValidElement, useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import type { ColouredLine } from '../parts/highlight.ts'
import { loadCode } from '../parts/load-patiently.ts'

/** Code block of an answer. Colours are added when they are ready. On a phone it scrolls sideways, also by keyboard. */
export function CodeBlock({ children }: { readonly children?: ReactNode }) {
  const { language, code } = read(children)
  const [coloured, setColoured] = useState<{ readonly code: string; readonly lines: readonly ColouredLine[] }>()
  useEffect(() => {
    if (language === '') return
    let left = false
    const timer = setTimeout(() => {
      void loadCode(() => import('../parts/highlight.ts'))
        .then(({ highlight }) => highlight(code, language))
        .then((lines) => !left && lines && setColoured({ code, lines }))
    }, settledMs)
    return () => {
      left = true
      clearTimeout(timer)
    }
  }, [code, language])
  return (
    <pre
      tabIndex={0}
      aria-label={language === '' ? 'Code' : `Code, ${language}`}
      className="my-3 overflow-x-auto rounded-lg border border-line bg-surface px-4 py-3 font-mono text-[13px] leading-relaxed"
    >
      <code className="font-mono">{coloured?.code === code ? coloured.lines.map(drawLine) : code}</code>
    </pre>
  )
}

/** While code is still being written, it is not highlighted for every piece. */
const settledMs = 150

function drawLine(line: ColouredLine, index: number) {
  return (
    <span key={index}>
      {index > 0 && '\n'}
      {line.map(({ content, style }, place) => (
        <span key={place} style={style}>
          {content}
        </span>
      ))}
    </span>
  )
}

function read(children: ReactNode): { readonly language: string; readonly code: string } {
  if (!isValidElement<{ readonly className?: string; readonly children?: ReactNode }>(children))
    return { language: '', code: textOf(children) }
  const { className = '', children: code } = children.props
  return { language: /language-([\w+#-]+)/.exec(className)?.[1] ?? '', code: textOf(code).replace(/\n$/, '') }
}

function textOf(node: ReactNode): string {
  if (Array.isArray(node)) return node.map(textOf).join('')
  return typeof node === 'string' || typeof node === 'number' ? String(node) : ''
}
