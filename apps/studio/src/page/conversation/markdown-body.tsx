import { Streamdown } from 'streamdown'
import type { StreamdownProps } from 'streamdown'
import { CodeBlock } from './code-block.tsx'

const components: NonNullable<StreamdownProps['components']> = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer" className="text-accent underline underline-offset-2">
      {children}
    </a>
  ),
  // Loading a picture tells its host that somebody reads this.
  img: ({ alt, src }) => <span className="text-ink-soft">[picture: {alt || String(src)}]</span>,
  // Tables and code scroll sideways on a phone, also by keyboard.
  table: ({ children }) => (
    <div tabIndex={0} className="my-3 overflow-x-auto rounded-lg border border-line">
      <table className="w-full border-collapse text-sm">{children}</table>
    </div>
  ),
  th: ({ children }) => <th className="border-b border-line bg-sunken px-3 py-1.5 text-left font-medium break-normal">{children}</th>,
  td: ({ children }) => <td className="border-b border-line px-3 py-1.5 align-top break-normal">{children}</td>,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  code: ({ children }) => <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.9em]">{children}</code>,
}

export interface MarkdownProps {
  readonly text: string
  readonly streaming?: boolean
}

export function MarkdownBody({ text, streaming = false }: MarkdownProps) {
  return (
    <Streamdown
      className="markdown"
      components={components}
      mode={streaming ? 'streaming' : 'static'}
      controls={false}
      linkSafety={{ enabled: false }}
    >
      {text}
    </Streamdown>
  )
}
