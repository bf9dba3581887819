/** Returns a label for a tool without a known label: `get_location` becomes `Get location`. */
export function toolLabel(toolName: string): string {
  const words = toolName.replace(/[_-]+/g, ' ').trim()
  return words === '' ? toolName : words[0]?.toUpperCase() + words.slice(1)
}
