/** What people call a tool that has no label, or whose label is not known yet: `get_location` is `Get location`. */
export function toolLabel(toolName: string): string {
  const words = toolName.replace(/[_-]+/g, ' ').trim()
  return words === '' ? toolName : words[0]?.toUpperCase() + words.slice(1)
}
