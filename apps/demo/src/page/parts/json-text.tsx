interface JsonTextProps {
  readonly label: string
  readonly value: unknown
}

/** A labelled value, as text when it is text and as JSON otherwise. */
export function JsonText({ label, value }: JsonTextProps) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    <div>
      <div className="label mb-1">{label}</div>
      <pre tabIndex={0} aria-label={label} className="max-h-64 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-xs whitespace-pre-wrap">
        {text}
      </pre>
    </div>
  )
}
