"""A TLS server that sends session tickets without end: OpenSSL reads them all in one call."""

import contextlib
import ctypes
import ctypes.util
import hashlib
import hmac
import os
import socket
import ssl
import subprocess
import threading


class Sealed:
    """The server's side of a connection by TLS 1.3: the handshake by Python, then records of our own."""

    def __init__(self, peer, context, secrets):
        self.peer, self.number = peer, 0
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.received, self.to_send, server_side=True)
        self.read(self.tls.do_handshake)
        with open(secrets, encoding="ascii") as lines:
            self.secret = bytes.fromhex([line for line in lines if line.startswith("SERVER_TRAFFIC_SECRET_0")][-1].split()[2])
        self.crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))
        for name in ("EVP_CIPHER_CTX_new", "EVP_aes_256_gcm"):
            getattr(self.crypto, name).restype = ctypes.c_void_p
        self.cipher, self.state = (ctypes.c_void_p(made()) for made in (self.crypto.EVP_aes_256_gcm, self.crypto.EVP_CIPHER_CTX_new))
        self.key, self.start = self.derive(b"key", 32), int.from_bytes(self.derive(b"iv", 12), "big")

    def derive(self, label, size):
        info = bytes([0, size, 6 + len(label)]) + b"tls13 " + label + b"\0\1"
        return hmac.new(self.secret, info, hashlib.sha384).digest()[:size]

    def read(self, what=None):
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                done = (what or self.tls.read)()
                self.peer.sendall(self.to_send.read())
                return done
            self.peer.sendall(self.to_send.read())
            data = self.peer.recv(1 << 16)
            if not data:
                raise ConnectionError
            self.received.write(data)

    def send(self, data, kind=23):
        """A record by AES-256-GCM: application data, or a handshake's message (22)."""
        text = data + bytes([kind])
        head = b"\x17\3\3" + (len(text) + 16).to_bytes(2, "big")
        out, tag, length = ctypes.create_string_buffer(len(text)), ctypes.create_string_buffer(16), ctypes.c_int()
        nonce = (self.start ^ self.number).to_bytes(12, "big")
        self.number += 1
        self.crypto.EVP_EncryptInit_ex(self.state, self.cipher, None, self.key, nonce)
        self.crypto.EVP_EncryptUpdate(self.state, None, ctypes.byref(length), head, len(head))
        self.crypto.EVP_EncryptUpdate(self.state, out, ctypes.byref(length), text, len(text))
        self.crypto.EVP_EncryptFinal_ex(self.state, None, ctypes.byref(length))
        self.crypto.EVP_CIPHER_CTX_ctrl(self.state, 16, 16, tag)
        self.peer.sendall(head + out.raw + tag.raw)


class TicketFlood:
    """@greet: what precedes TLS; @talk: what precedes the tickets, with a Sealed."""

    def __init__(self, test, talk, greet=lambda peer: None):
        self.talk, self.greet = talk, greet
        self.certificate, self.key, self.secrets = (f"{test.top}/flood.{end}" for end in ("crt", "key", "log"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0
        self.context.keylog_filename = self.secrets
        self.context.load_cert_chain(self.certificate, self.key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        test.addCleanup(self.close)

    def serve(self):
        peer, _ = self.listener.accept()
        with peer, contextlib.suppress(OSError):
            self.greet(peer)
            sealed = Sealed(peer, self.context, self.secrets)
            self.talk(sealed)
            tickets = b"\4\0\0\x0f" + bytes(3) + b"\xff" + bytes(4) + b"\1\0\0\1t\0\0"
            while True:
                sealed.send(tickets * 860, 22)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
