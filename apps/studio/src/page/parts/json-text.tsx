interface JsonTextProps {
  readonly label: string
  readonly value: unknown
  /** True if its height is not limited. */
  readonly tall?: boolean
}

/** Number of characters that are shown: one long value must not block the page. */
const mostCharacters = 50_000

/** Labelled value: a text as text, other values as JSON. */
export function JsonText({ label, value, tall = false }: JsonTextProps) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined')
  const cut = text.length - mostCharacters
  return (
    <div>
      <div className="label mb-1">{label}</div>
      <pre
        tabIndex={0}
        aria-label={label}
        className={`overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-xs break-words whitespace-pre-wrap ${tall ? '' : 'max-h-64'}`}
      >
        {cut > 0 ? text.slice(0, mostCharacters) : text}
      </pre>
      {cut > 0 && <p className="mt-1 text-xs text-ink-soft">{cut.toLocaleString('en')} more characters are not shown.</p>}
    </div>
  )
}
