// Browsers start no worker for a page that is read from disk, and the search of the site runs in one.
// Here it runs in a hidden frame instead, which such a page may script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const page = this.frame.contentDocument
      page.open()
      page.write("<!doctype html><body></body>")
      page.close()
      this.frame.contentWindow.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }))
      const script = page.createElement("script")
      script.src = url
      this.loaded = new Promise((done) => script.addEventListener("load", done))
      page.body.appendChild(script)
    }

    postMessage(data) {
      const event = () => new MessageEvent("message", { data })
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(event()))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
