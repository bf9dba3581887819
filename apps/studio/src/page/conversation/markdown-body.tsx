import { memo, useEffect, useMemo, useRef, useState } from 'react'
import type { RefObject } from 'react'
import { Streamdown } from 'streamdown'
import type { StreamdownProps } from 'streamdown'
import { CodeBlock } from './code-block.tsx'
import { laidOutInSight } from './plain-text.tsx'
import { createSections, hasDefinitions } from './sections.ts'

const components: NonNullable<StreamdownProps['components']> = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer" className="text-accent underline underline-offset-2">
      {children}
    </a>
  ),
  // Loading an image would tell its host that the text is being read.
  img: ({ alt, src }) => <span className="text-ink-soft">[picture: {alt || String(src)}]</span>,
  // Checkbox of a task list.
  input: ({ checked }) => (
    <input
      type="checkbox"
      disabled
      checked={checked === true}
      readOnly
      aria-label={checked === true ? 'done' : 'to do'}
      className="mr-1.5 accent-accent"
    />
  ),
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

/** Length up to which a complete text is rendered as a whole if its parts depend on each other. */
const mostAsOne = 60_000

/** Sections of a text. In a long text, sections far from the window are not rendered as Markdown yet. */
export function MarkdownBody({ text, streaming = false }: MarkdownProps) {
  const [sectionsOf] = useState(createSections)
  const { settled, open } = useMemo(() => sectionsOf(text), [sectionsOf, text])
  const asOne = settled.length === 0 || (!streaming && text.length <= mostAsOne && hasDefinitions(text))
  const sections = asOne ? [text] : [...settled, open]
  return (
    <div className="markdown space-y-4">
      {sections.map((section, place) => (
        <Section
          key={place}
          text={section}
          part={!asOne}
          whole={asOne && !streaming}
          streaming={streaming && place === sections.length - 1}
        />
      ))}
    </div>
  )
}

interface SectionProps extends MarkdownProps {
  /** True if it is the whole text and complete. */
  readonly whole?: boolean
  /** True if it is one of several sections. */
  readonly part?: boolean
}

/** Rendered again only if its own text has changed. */
const Section = memo(function Section({ text, streaming = false, whole = false, part = false }: SectionProps) {
  const place = useRef<HTMLDivElement>(null)
  const near = useNearness(place, streaming || !part)
  return (
    <div ref={place} style={part && !streaming ? laidOutInSight(text) : undefined}>
      {near ? (
        <Streamdown
          components={components}
          mode={whole ? 'static' : 'streaming'}
          parseIncompleteMarkdown={streaming}
          controls={false}
          linkSafety={noLinkSafety}
        >
          {text}
        </Streamdown>
      ) : (
        <div className="whitespace-pre-wrap">{text}</div>
      )}
    </div>
  )
})

const noLinkSafety = { enabled: false }
const nearPixels = 1000

/** Returns true once the element has come near the window. */
function useNearness(place: RefObject<HTMLElement | null>, fromTheStart: boolean): boolean {
  const [near, setNear] = useState(fromTheStart)
  useEffect(() => {
    const element = place.current
    if (near || !element) return
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && setNear(true), {
      root: element.closest('.conversation-scroll'),
      rootMargin: `${nearPixels}px 0px`,
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [place, near])
  return near
}
