// What a browser with scripts can do more: a picture that is pasted or dropped is read at once.

const form = document.querySelector('form[data-scan]')
const input = form?.querySelector('input[type="file"]')

if (form && input) {
  const give = (files) => {
    const picture = [...files].find(({ type }) => type === 'image/png' || type === 'image/jpeg')
    if (!picture) return false
    const chosen = new DataTransfer()
    chosen.items.add(picture)
    input.files = chosen.files
    form.requestSubmit()
    return true
  }

  for (const hint of form.querySelectorAll('[data-scripted]')) hint.hidden = false
  document.addEventListener('paste', (event) => {
    if (event.clipboardData && give(event.clipboardData.files)) event.preventDefault()
  })
  document.addEventListener('dragover', (event) => event.preventDefault())
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    if (event.dataTransfer) give(event.dataTransfer.files)
  })
}
